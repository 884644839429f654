// ---- gold facts, and the conclusions that carry them

const STATUS_KINDS = { COVERED: "good", PARTIAL: "warn", MISSING: "bad" };
const WORD_KINDS = { kept: "good", lost: "bad", unknown: "warn" };
const WORD_TITLES = {
  kept: "a sound conclusion covers it",
  lost: "unsound conclusions alone cover it: PARTIAL at best",
  unknown: "no sound conclusion covers it, and a verdict is missing: in no share",
};

function goldFacts(coverage, win) {
  if (coverage.facts === undefined) return null; // said among what is unjudged
  if (!coverage.facts.length) return section("Gold facts", none("The window holds none."));
  const source = coverage.source === "audited" ? "Corrected by a person." : "Extracted by the judge.";
  const titles = ["Status", "Gold fact", "Importance", "Covered by"];
  const table = el("table", { class: "stacked" },
    el("thead", null, el("tr", null, titles.map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", null, coverage.facts.map((fact) => factLine(fact, win, titles))));
  return section(`Gold facts (${coverage.facts.length})`, none(source), table);
}

function factLine(fact, win, titles) {
  const cells = [
    [
      chip(fact.status ?? "unjudged", STATUS_KINDS[fact.status] ?? "warn"),
      fact.word ? [" ", el("span", { class: `chip word ${WORD_KINDS[fact.word]}`, title: WORD_TITLES[fact.word] }, fact.word)] : null,
    ],
    [
      el("p", { class: "prose", dir: "auto" }, el("b", null, `${fact.id} `), fact.fact),
      el("p", { class: "chips" }, chip(fact.category), fact.topic ? chip(`topic: ${fact.topic}`) : null, chip(`about ${fact.peer}`)),
      fact.why ? el("p", { class: "soft", dir: "auto" }, fact.why) : null,
      el("details", { class: "more" }, el("summary", null, "Span and inference"),
        el("p", { class: "soft", dir: "auto" }, el("bdi", null, `“${fact.span}”`), ` in ${fact.message}`),
        el("p", { class: "soft", dir: "auto" }, `Licenses: ${fact.inference}`)),
    ],
    [el("span", null, `${fact.importance} `), el("br"), el("span", { class: "soft" }, fact.implicit ? "implicit" : "explicit")],
    [fact.covering.length ? el("ul", { class: "plain" }, fact.covering.map((at) => el("li", null, conclusionNode(win, at)))) : none("–")],
  ];
  const gap = fact.status === "MISSING" && !fact.implicit && fact.importance !== "TRIVIAL";
  return el("tr", { "data-fact": fact.id, class: gap ? "gap" : null },
    cells.map((cell, at) => el("td", { "data-title": titles[at] }, cell)));
}

// A conclusion with its verdict; a link to its case where the premise judge has one.
function conclusionNode(win, at) {
  const [text, peer, outcome, caseId, failed] = win.conclusions[at];
  const shown = el("span", { dir: "auto" }, text.trim() || "(empty)");
  return [
    el("span", { class: `verdict small ${outcome ?? "unknown"}`, title: failed.join(", ") || null }, outcome ?? "no verdict"),
    " ",
    caseId ? el("a", { href: addressOf("cases", caseId), title: `about ${peer}` }, shown) : shown,
  ];
}

function droppedFacts(coverage) {
  if (!coverage.dropped.length) return null;
  const items = coverage.dropped.map(([fact, span, reason, detail]) =>
    el("li", null, chip(reason, "warn"), " ", el("bdi", null, fact),
      el("p", { class: "soft", dir: "auto" }, `${detail}${span ? ` · span “${span}”` : ""}`)));
  return section(`Dropped facts (${coverage.dropped.length}), in no score`, el("ul", null, items));
}

function conclusionList(win) {
  if (!win.conclusions.length) return section("Conclusions", none("None: the deriver minted nothing here."));
  const items = win.conclusions.map(([, , , , failed, topic], at) =>
    el("li", null, conclusionNode(win, at), " ", topic ? chip(`topic: ${topic}`) : null, failed.map((name) => chip(name, "bad"))));
  return section(`Conclusions (${win.conclusions.length})`, el("ul", { class: "plain" }, items));
}
