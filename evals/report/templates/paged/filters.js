// ---- filters

function pattern(words, asJson) {
  const text = asJson ? JSON.stringify(words).slice(1, -1).replaceAll("<", "\\u003c") : words;
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
}

// Names of fields are no text of the item. Inside a JSON string, no bare quote stands before a colon.
const OUR_KEYS = /"[a-z_0-9]+":/g;

function searchTest(words) {
  const plain = pattern(words, false);
  const inJson = pattern(words, true);
  return (i) =>
    plain.test(index.text[i]) ||
    plain.test(index.id[i]) ||
    plain.test(index.peers[index.peer[i]]) ||
    (lines.rows !== undefined && inJson.test(lines.rows[i]) && inJson.test(lines.rows[i].replace(OUR_KEYS, "")));
}

function tests() {
  const found = [];
  if (state[CHOICE]) {
    const wanted = outcomeNames.indexOf(state[CHOICE]);
    found.push((i) => outcomesOf(i).includes(wanted));
  }
  for (const name of FACETS) {
    if (!state[name]) continue;
    const { choices, rows } = index.facets[name];
    const wanted = choices.findIndex(([text]) => text === state[name]);
    found.push((i) => rows[i].includes(wanted));
  }
  if (state.q.trim()) found.push(searchTest(state.q.trim()));
  return found;
}

const outcomesOf = (i) => [index.outcome[i]].flat(); // one, or several at once

function ordered(rows) {
  if (state.order === "trace") return rows;
  if (!state.order) return rows.sort((a, b) => outcomesOf(a)[0] - outcomesOf(b)[0] || a - b);
  const [column, direction] = state.order.split("-");
  const sign = direction === "down" ? -1 : 1;
  const values = index[column].map((text) => Number.parseFloat(String(text).replace(/^[<>] /, "")));
  return rows.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
    return sign * (x - y) || a - b;
  });
}

function select() {
  const wanted = tests();
  const rows = [];
  for (let i = 0; i < total; i += 1) {
    if (wanted.every((test) => test(i))) rows.push(i);
  }
  shown = ordered(rows);
}

function buildFilters() {
  const box = document.querySelector(".choices");
  for (const [name, title, count] of [["", "All", total], ...index.outcomes]) {
    const input = el("input", { type: "radio", name: CHOICE, value: name, id: `${CHOICE}-${name || "all"}` });
    box.append(el("label", { class: name }, input, el("span", null, title, " ", el("small", null, number.format(count)))));
  }
  for (const name of FACETS) {
    const { choices } = index.facets[name];
    const field = byId(name);
    field.append(el("option", { value: "" }, "All"));
    for (const [text, count] of choices.slice(0, index.offered)) {
      field.append(el("option", { value: text }, `${cutTo(text, 60)} (${number.format(count)})`));
    }
    const beyond = choices.length - index.offered;
    if (beyond > 0) field.append(el("option", { disabled: true }, `${number.format(beyond)} more: use the search`));
    field.parentElement.hidden = choices.length === 0;
  }
}

const cutTo = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

function showFilters() {
  byId("q").value = state.q;
  byId("order").value = state.order;
  byId(`${CHOICE}-${state[CHOICE] || "all"}`).checked = true;
  for (const name of FACETS) {
    const field = byId(name);
    if (state[name] && ![...field.options].some((option) => option.value === state[name])) {
      field.append(el("option", { value: state[name] }, cutTo(state[name], 60)));
    }
    field.value = state[name];
  }
  if (FACETS.some((name) => state[name])) byId("more").open = true;
}

function readFilters() {
  const form = byId("filters");
  const next = { ...blank, q: byId("q").value, order: byId("order").value };
  next[CHOICE] = form.elements[CHOICE].value;
  for (const name of FACETS) next[name] = byId(name).value;
  return next;
}

function rememberFilters() {
  const set = Object.entries(state).filter(([, value]) => value);
  const fragment = set.length ? `#?${new URLSearchParams(set)}` : "#";
  history.replaceState(null, "", fragment);
}
