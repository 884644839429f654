// ---- what every body ends with: the judge's answers, and what produced the row

function judgeAnswers(calls) {
  const titles = ["Prompt", "From", "Model", "Tokens", "Attempts", "Request"];
  const lines = calls.map(([purpose, source, served, asked, prompt, request, tokens, attempts]) =>
    el("tr", null, [
      purpose,
      source,
      served === asked ? shared.models[served] : `${shared.models[served]} (asked: ${shared.models[asked]})`,
      tokens,
      String(attempts),
      el("code", { title: `prompt ${shared.hashes[prompt]}` }, request),
    ].map((cell) => el("td", null, cell))));
  return el("details", { class: "more" }, el("summary", null, `Judge answers (${calls.length})`),
    calls.length
      ? el("div", { class: "scroll" }, el("table", null, el("tr", null, titles.map((title) => el("th", { scope: "col" }, title))), lines))
      : none("None."));
}

function provenance(own, numberOfRun) {
  const pairs = [...own, ...shared.provenance[numberOfRun]];
  return el("details", { class: "more" }, el("summary", null, "Provenance"),
    el("table", null, pairs.map(([name, value]) => el("tr", null, el("th", { scope: "row" }, name), el("td", null, value)))));
}
