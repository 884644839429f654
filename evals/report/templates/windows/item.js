// ---- a window in the list, and what unfolds

function itemNode(i) {
  const found = outcomesOf(i).map((outcome) => outcomeNames[outcome]);
  const words = { missing: `${index.missing[i]} missing`, issues: "set issues", unjudged: "unjudged", none: "no finding" };
  const figure = (title, value) => (value === "–" ? null : el("span", null, `${title} ${value}`));
  const facts = el(
    "span",
    { class: "facts" },
    el("bdi", null, cutTo(index.peers[index.peer[i]], 60)),
    figure("pass rate", index.pass[i]),
    figure("coverage", index.coverage[i]),
    figure("quality × coverage", index.quality[i]),
    el("span", null, index.text[i]),
  );
  const summary = el(
    "summary",
    null,
    el("span", { class: "verdicts" }, found.map((name) => el("span", { class: `verdict ${name}` }, words[name]))),
    el("span", { class: "conclusion", dir: "auto" }, index.id[i]),
    facts,
  );
  return unfolding(i, summary, (body, win) => body.replaceChildren(...windowBody(win)));
}

function windowBody(win) {
  const { coverage, batch } = win;
  const left = el(
    "div",
    { class: "findings" },
    unjudged(coverage, batch),
    coverage ? goldFacts(coverage, win) : notRun("Gold facts", "the coverage bench"),
    coverage ? questions(coverage, win) : null,
    batch ? setIssues(batch, win) : notRun("Set issues", "the set-level bench"),
    coverage ? droppedFacts(coverage) : null,
    conclusionList(win),
    ...[["Coverage", coverage], ["Set-level", batch]].filter(([, part]) => part).map(([name, part]) =>
      section(name, judgeAnswers(part.calls), provenance(windowOrigin(part, win), part.provenance))),
  );
  return [left, sourceNode(win)];
}

function windowOrigin(part, win) {
  const [model, prompt, at] = part.deriver;
  return [["Deriver model", model], ["Deriver prompt", prompt], ["Derived at", at], ["Window hash", win.hash], ["Conversation", win.conversation ?? "–"]];
}

const notRun = (title, instrument) => section(title, none(`Not run: ${instrument} has no row of this window.`));

function unjudged(coverage, batch) {
  const steps = [
    ["Gold", coverage?.gold_unjudged],
    ["Matching", coverage?.matching_unjudged],
    ["Topics", coverage?.topics_unjudged],
    ["Questions", coverage?.questions_unjudged],
    ["Set-level", batch?.unjudged],
  ].filter(([, why]) => why);
  if (!steps.length) return null;
  return section("Unjudged", el("ul", null, steps.map(([step, why]) => el("li", { dir: "auto" }, `${step}, ${why.join(": ")}`))));
}
