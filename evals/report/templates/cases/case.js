// ---- one case

function findings(row, i, win) {
  const failed = namesOf("failed", i);
  return el(
    "div",
    { class: "findings" },
    failed.length
      ? section("Unsound because", el("ul", null, failed.map((name) =>
          el("li", null, el("code", null, name), ` ${index.conditions[name] ?? ""}`))))
      : null,
    row.unjudged ? section("Unjudged", prose(`${row.unjudged[0]}: ${row.unjudged[1]}`)) : null,
    scores(row, i),
    row.reconstruction === undefined ? null : section("What a stranger takes from it", prose(row.reconstruction)),
    slots(row),
    row.inference === undefined
      ? null
      : section("Licensed inference", row.inference === "NONE" ? none("NONE: nothing follows from it.") : prose(row.inference)),
    support(row),
    row.force === undefined
      ? null
      : section("Force", prose(row.force), row.force_preserved === undefined ? null : none(row.force_preserved ? "Preserved." : "Not the source's force.")),
    section("Time status", namesOf("time", i).length ? prose(namesOf("time", i)[0]) : none("No pass 2.")),
    labelSection(row),
    minimality(row),
    judgeAnswers(row.calls),
    provenance(caseOrigin(row, win), row.provenance),
  );
}

function scores(row, i) {
  const pairs = [
    ["decontextuality", index.decon[i]],
    ["minimality", row.minimality ?? "–"],
    ["molecular", index.molec[i]],
    ["words (8 to 25: a diagnostic)", String(row.words)],
  ];
  return el("dl", { class: "scores" }, pairs.map(([name, value]) =>
    el("div", null, el("dt", null, name), el("dd", null, value))));
}

function slots(row) {
  if (row.slots === undefined) return null;
  const open = row.slots.map(([slot, why]) => ({ slot, why, found: null }));
  for (const [slot, attribution, evidence] of row.missing ?? []) {
    const known = open.find((item) => item.slot === slot && item.found === null);
    const found = { attribution, evidence };
    if (known) known.found = found;
    else open.push({ slot, why: null, found });
  }
  if (!open.length) return section("Open slots", none("None."));
  const items = open.map(({ slot, why, found }) =>
    el("li", null, el("b", { dir: "auto" }, slot), why ? [" ", el("bdi", null, why)] : null,
      found
        ? el("div", { class: "found" }, chip(found.attribution, "attribution"),
            found.evidence ? el("span", { class: "quoted", dir: "auto" }, found.evidence) : null)
        : null));
  const scopes = { window: "Attribution looked at the window alone.", conversation: "Attribution searched the earlier conversation too." };
  return section("Open slots", el("ul", null, items),
    row.scope ? none(scopes[row.scope]) : null,
    row.attribution_unjudged ? prose(`The search of the earlier conversation gave nothing: ${row.attribution_unjudged.join(": ")}`) : null);
}

function support(row) {
  if (row.license === undefined) return section("Pass 2", none("Not answered."));
  const items = row.unsupported.map(([element, kind, why]) =>
    el("li", null, el("b", { class: "unsupported", dir: "auto" }, element), " ", chip(kind, "bad"), " ", el("bdi", null, why)));
  return section(
    "What the window licenses",
    prose(row.license),
    prose(row.interpretation === "MATCH" ? "Interpretation: MATCH" : "Interpretation: MISMATCH, the source means something else."),
    el("h4", null, "Unsupported elements"),
    items.length ? el("ul", null, items) : none("None."),
  );
}

function labelSection(row) {
  const both = [["pass 1", row.labels_1], ["pass 2", row.labels_2]].filter(([, labels]) => labels?.length);
  if (!both.length) return section("Labels", none("None."));
  return section("Labels", both.map(([name, labels]) =>
    el("p", { class: "chips" }, `${name}: `, labels.map((text) => chip(text, "label")))));
}

function minimality(row) {
  if (row.minimality_unjudged) return section("Minimality", prose(`Unjudged, ${row.minimality_unjudged.join(": ")}`));
  if (row.minimality === undefined) return section("Minimality", none("Not asked."));
  const list = (title, texts, empty) => [el("h4", null, title),
    texts.length ? el("ul", null, texts.map((text) => el("li", { dir: "auto" }, text))) : none(empty)];
  return section("Minimality", list("Claims", row.claims, "It claims nothing."), list("Padding", row.padding, "None."),
    row.bundled === undefined ? null : none(`Pass 1 calls it ${row.bundled ? "bundled" : "not bundled"}.`));
}

function caseOrigin(row, win) {
  const [model, prompt, at] = row.deriver;
  return [["Deriver model", model], ["Deriver prompt", prompt], ["Derived at", at], ["Window hash", win.hash], ["Conversation", win.conversation ?? "–"]];
}
