// ---- a case in the list, and what unfolds

function itemNode(i) {
  const outcome = outcomeNames[index.outcome[i]];
  const labels = namesOf("label", i);
  const facts = el(
    "span",
    { class: "facts" },
    el("bdi", null, cutTo(index.peers[index.peer[i]], 60)),
    index.decon[i] === "–" ? null : el("span", { title: "decontextuality, 0 to 1" }, `decontextuality ${index.decon[i]}`),
    namesOf("reason", i).map((text) => chip(text)),
    namesOf("failed", i).map((text) => chip(text, "bad")),
    namesOf("time", i).map((text) => chip(text)),
    namesOf("attribution", i).map((text) => chip(text, "attribution")),
    labels.slice(0, 4).map((text) => chip(cutTo(text, 60), "label")),
    labels.length > 4 ? `+${labels.length - 4}` : null,
  );
  const summary = el(
    "summary",
    null,
    el("span", { class: `verdict ${outcome}` }, outcome),
    el("span", { class: "conclusion", dir: "auto" }, index.text[i]),
    facts,
  );
  return unfolding(i, summary, (body, row, node) => {
    const win = JSON.parse(lines.windows[row.window]);
    body.replaceChildren(findings(row, i, win), windowNode(row, win));
    markConclusion(node.querySelector(".conclusion"), index.text[i], row);
  });
}
