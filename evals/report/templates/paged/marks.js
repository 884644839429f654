// ---- messages, with words of theirs marked

// wanted(id) gives the groups to mark in that message: {kind, title, needles}.
function windowAside(win, title, wanted, cited) {
  const told = [win.reconstructed ? "rebuilt from batching" : "exact", `${win.messages.length} messages`, win.shape];
  if (win.earlier !== null) told.push(`${win.earlier}, not shown`);
  const list = win.messages.map(([id, peer, at, text]) => {
    const message = el("div", { class: "text", dir: "auto" }, marks(text, wanted(id)));
    const why = cited(id);
    return el("li", { class: why ? "cited" : null },
      el("p", { class: "who" }, el("b", null, el("bdi", null, peer)), " ", el("time", null, at ?? "no time"), " ", el("span", { class: "soft", dir: "ltr" }, id),
        why ? chip(why, "attribution") : null),
      message);
  });
  const node = el("aside", { class: "window", "aria-label": "Window" }, el("h3", null, title),
    el("p", { class: "soft" }, told.join(" · "), win.conversation ? [" · conversation ", el("bdi", null, win.conversation)] : null), el("ol", null, list));
  return node;
}

// A line above the messages that says what the marks in them mean.
function addKey(node, meanings) {
  const key = meanings.filter(([kind]) => node.querySelector(`mark.${kind}`)).map(([kind, title]) => el("mark", { class: kind }, title));
  if (key.length) node.querySelector("ol").before(el("p", { class: "key" }, "Marked: ", key.flatMap((mark) => [mark, " "])));
  return node;
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

// Where groups overlap, the piece carries all their kinds and titles.
function marks(text, wanted) {
  const folded = fold(text);
  const covers = [];
  for (const group of wanted) {
    for (const { whole, parts } of group.needles) {
      let spans = whole ? spansOf(folded, whole) : [];
      if (!spans.length) spans = parts.flatMap((part) => spansOf(folded, part));
      for (const [from, to] of spans) covers.push({ from, to, group });
    }
  }
  const cuts = [...new Set([0, text.length, ...covers.flatMap(({ from, to }) => [from, to])])].sort((a, b) => a - b);
  const pieces = cuts.slice(0, -1).map((from, at) => {
    const groups = [...new Set(covers.filter((span) => span.from <= from && from < span.to).map((span) => span.group))];
    return { text: text.slice(from, cuts[at + 1]), groups };
  });
  return pieces.map(({ text: piece, groups }) => {
    if (!groups.length) return piece;
    const each = (name) => [...new Set(groups.map((group) => group[name]))];
    return el("mark", { class: each("kind").join(" "), title: each("title").join(", ") }, piece);
  });
}
