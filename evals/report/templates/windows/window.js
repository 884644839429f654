// ---- the messages, with the spans of gold facts and questions marked

function sourceNode(win) {
  const spans = [
    ...(win.coverage?.facts ?? []).map((fact) => ["gold", `gold fact ${fact.id}`, fact]),
    ...(win.coverage?.questions ?? []).map((item) => ["question", `question ${item.id}`, item]),
  ];
  const groups = spans.map(([kind, title, { message, span }]) => ({ kind, title, message, needles: needlesOf([span]) }));
  const wanted = (id) => groups.filter((group) => group.message === id);
  const meanings = [["gold", "span of a gold fact"], ["question", "span of a question"]];
  return addKey(windowAside(win, ["Window ", el("code", null, win.id)], wanted, () => null), meanings);
}
