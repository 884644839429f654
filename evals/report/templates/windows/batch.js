// ---- what the conclusions answer, and what stands between them

const GRADE_KINDS = { ANSWERABLE_CORRECT: "good", ANSWERABLE_WRONG: "bad" };

function questions(coverage, win) {
  if (coverage.questions === undefined) return null; // said among what is unjudged
  const dropped = coverage.dropped_questions ? none(`${coverage.dropped_questions} more dropped: no span in the window.`) : null;
  if (!coverage.questions.length) return section("Questions", none("None."), dropped);
  const items = coverage.questions.map((item) =>
    el("li", { "data-question": item.id },
      el("p", { class: "prose", dir: "auto" }, el("b", null, `${item.id} `), item.question),
      el("dl", { class: "pairs" },
        pair("Gold answer", el("bdi", null, item.gold)),
        pair("Written", item.written === undefined ? "–" : el("bdi", null, item.written)),
        pair("Grade", [chip(item.grade ?? "unjudged", GRADE_KINDS[item.grade] ?? "warn"), item.by ? ` by the ${item.by}` : null])),
      item.unjudged ? el("p", { class: "soft", dir: "auto" }, `Unjudged, ${item.unjudged.join(": ")}`) : null,
      item.why ? el("p", { class: "soft", dir: "auto" }, item.why) : null,
      item.conclusions.length
        ? el("ul", { class: "plain" }, item.conclusions.map((at) => el("li", null, conclusionNode(win, at))))
        : null));
  return section(`Questions (${items.length}), answered from the conclusions alone`, el("ul", { class: "plain apart" }, items), dropped);
}

const pair = (title, value) => el("div", null, el("dt", null, title), el("dd", null, value));

function setIssues(batch, win) {
  const repeats = batch.repeats.length
    ? [el("h4", null, "Repeats in the same words, found without a judge"),
       el("ul", { class: "plain apart" }, batch.repeats.map((group) => el("li", null, groupNode(group, win))))]
    : none("No repeats in the same words.");
  if (batch.issues === undefined) return section("Set issues", none("Unjudged."), repeats);
  const items = batch.issues.map(([kind, severity, group, evidence]) =>
    el("li", null, el("p", { class: "chips" }, chip(kind, "bad"), chip(severity)),
      el("p", { class: "prose", dir: "auto" }, evidence), groupNode(group, win)));
  return section(`Set issues (${items.length})`,
    items.length ? el("ul", { class: "plain apart" }, items) : none("The judge found none."), repeats);
}

const groupNode = (group, win) =>
  el("ul", { class: "plain" }, group.map((at) => el("li", null, conclusionNode(win, at))));
