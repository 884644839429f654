// ---- the window, with the evidence marked

function windowNode(row, win) {
  const evidence = (row.missing ?? []).map(([, , text]) => text);
  const wanted = [
    { kind: "evidence", title: "evidence for an open slot", needles: needlesOf(evidence) },
    { kind: "unsupported", title: "unsupported element", needles: needlesOf((row.unsupported ?? []).map(([element]) => element)) },
  ];
  const told = [win.reconstructed ? "rebuilt from batching" : "exact", `${win.messages.length} messages`, win.shape];
  if (win.earlier !== null) told.push(`${win.earlier}, not shown`);
  const list = win.messages.map(([id, peer, at, text]) => {
    const message = el("div", { class: "text", dir: "auto" }, marks(text, wanted));
    const cited = evidence.some((words) => cites(words, id));
    return el("li", { class: cited ? "cited" : null },
      el("p", { class: "who" }, el("b", null, el("bdi", null, peer)), " ", el("time", null, at ?? "no time"), " ", el("span", { class: "soft", dir: "ltr" }, id),
        cited ? chip("cited as evidence", "attribution") : null),
      message);
  });
  const node = el("aside", { class: "window", "aria-label": "Window" }, el("h3", null, "Window ", el("code", null, win.id)),
    el("p", { class: "soft" }, told.join(" · "), win.conversation ? [" · conversation ", el("bdi", null, win.conversation)] : null), el("ol", null, list));
  const key = wanted.filter(({ kind }) => node.querySelector(`mark.${kind}`)).map(({ kind, title }) => el("mark", { class: kind }, title));
  if (key.length) node.querySelector("ol").before(el("p", { class: "key" }, "Marked: ", key.flatMap((mark) => [mark, " "])));
  return node;
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

const isWord = (char) => char !== undefined && /[\p{L}\p{N}_]/u.test(char);
const standsAlone = (text, from, to) =>
  !(isWord(text[from - 1]) && isWord(text[from])) && !(isWord(text[to]) && isWord(text[to - 1]));

// The judge quotes within a sentence of its own: try the whole, then what stands in quotation marks.
function needlesOf(texts) {
  const quotes = /"([^"]+)"|(?<![\p{L}\p{N}])'(.+?)'(?![\p{L}\p{N}])|«([^»]+)»|「([^」]+)」/gu;
  return texts.map((text) => {
    const straight = straighten(text);
    const parts = [...straight.matchAll(quotes)].flatMap((match) => match.slice(1).filter(Boolean));
    return { whole: needle(straight), parts: parts.flatMap((part) => part.split(/…|\.\.\./)).map(needle).filter(Boolean) };
  });
}

const needle = (text) => fold(text).text.trim().replace(/[.,;:!?…]+$/u, "").trim();
const straighten = (text) => text.replace(/[“”„]/g, '"').replace(/[‘’‚]/g, "'");

// Lower case, straight quotes, single spaces; places[i] is where folded character i stands in the text.
function fold(text) {
  const straight = straighten(text);
  let folded = "";
  const places = [];
  for (let at = 0; at < straight.length; at += 1) {
    const space = /\s/u.test(straight[at]);
    if (space && folded.endsWith(" ")) continue;
    for (const char of space ? " " : straight[at].toLowerCase()) {
      folded += char;
      places.push(at);
    }
  }
  return { text: folded, places };
}

function spansOf(folded, needle) {
  const spans = [];
  for (let at = folded.text.indexOf(needle); at >= 0; at = folded.text.indexOf(needle, at + needle.length)) {
    if (standsAlone(folded.text, at, at + needle.length)) {
      spans.push([folded.places[at], folded.places[at + needle.length - 1] + 1]);
    }
  }
  return spans;
}

function marks(text, wanted) {
  const folded = fold(text);
  const kinds = new Array(text.length).fill(null);
  for (const group of wanted) {
    for (const { whole, parts } of group.needles) {
      let spans = whole ? spansOf(folded, whole) : [];
      if (!spans.length) spans = parts.flatMap((part) => spansOf(folded, part));
      for (const [from, to] of spans) kinds.fill(group, from, to);
    }
  }
  const nodes = [];
  for (let from = 0; from < text.length; ) {
    let to = from;
    while (to < text.length && kinds[to] === kinds[from]) to += 1;
    const piece = text.slice(from, to);
    nodes.push(kinds[from] ? el("mark", { class: kinds[from].kind, title: kinds[from].title }, piece) : piece);
    from = to;
  }
  return nodes;
}
