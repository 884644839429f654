// ---- the window of a case, with the evidence marked

function windowNode(row, win) {
  const evidence = (row.missing ?? []).map(([, , text]) => text);
  const wanted = [
    { kind: "evidence", title: "evidence for an open slot", needles: needlesOf(evidence) },
    { kind: "unsupported", title: "unsupported element", needles: needlesOf((row.unsupported ?? []).map(([element]) => element)) },
  ];
  const cited = (id) => (evidence.some((words) => cites(words, id)) ? "cited as evidence" : null);
  const title = ["Window ", el("a", { href: addressOf("windows", win.id) }, el("code", null, win.id))];
  return addKey(windowAside(win, title, () => wanted, cited), wanted.map((group) => [group.kind, group.title]));
}

function markConclusion(node, text, row) {
  const needles = needlesOf((row.unsupported ?? []).map(([element]) => element));
  node.replaceChildren(...marks(text, [{ kind: "unsupported", title: "unsupported element", needles }]));
}

// An id like "m3" or "D1:3" stands in evidence as a word of its own; a bare number could be anything.
function cites(words, id) {
  if (!/\p{L}/u.test(id) || !/\d/.test(id)) return false;
  for (let at = words.indexOf(id); at >= 0; at = words.indexOf(id, at + 1)) {
    if (standsAlone(words, at, at + id.length)) return true;
  }
  return false;
}
