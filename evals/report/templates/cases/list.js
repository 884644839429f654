// ---- the list

function draw() {
  const pages = Math.max(1, Math.ceil(shown.length / index.page));
  page = Math.min(Math.max(page, 0), pages - 1);
  const first = page * index.page;
  const rows = shown.slice(first, first + index.page);
  byId("cases").replaceChildren(...rows.map((i) => el("li", null, caseNode(i))));
  byId("cases").setAttribute("start", first + 1);
  byId("unfold").hidden = rows.length === 0;
  const range = rows.length ? ` Showing ${number.format(first + 1)}–${number.format(first + rows.length)}.` : "";
  byId("status").textContent =
    total === 0
      ? "This run holds no conclusions."
      : `${number.format(shown.length)} of ${number.format(total)} conclusions.${range}`;
  drawPager(pages);
}

function drawPager(pages) {
  const go = (title, target, off) => {
    const button = el("button", { type: "button", disabled: off, "data-page": target }, title);
    button.addEventListener("click", () => turnTo(target));
    return button;
  };
  const field = el("input", { type: "number", min: 1, max: pages, value: page + 1, "aria-label": "Page" });
  field.addEventListener("change", () => turnTo((Number.parseInt(field.value, 10) || 1) - 1));
  byId("pager").hidden = pages === 1;
  byId("pager").replaceChildren(
    go("First", 0, page === 0),
    go("Previous", page - 1, page === 0),
    el("span", null, "Page ", field, ` of ${number.format(pages)}`),
    go("Next", page + 1, page === pages - 1),
    go("Last", pages - 1, page === pages - 1),
  );
}

function turnTo(target) {
  page = target;
  draw();
  byId("status").scrollIntoView();
}

function namesOf(facet, i) {
  const { choices, rows } = index.facets[facet];
  return rows[i].map((choice) => choices[choice][0]);
}

function caseNode(i) {
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
  const node = el("details", { "data-case": index.id[i] }, summary);
  node.addEventListener("toggle", () => node.open && fill(node, i));
  summary.addEventListener("click", () => {
    if (node.open) rememberFilters();
    else history.replaceState(null, "", `#${encodeFragment(index.id[i])}`);
  });
  return node;
}

const encodeFragment = (id) => encodeURIComponent(id).replaceAll("%2F", "/");

function fill(node, i) {
  if (node.dataset.filled) return;
  node.dataset.filled = "yes";
  const body = el("div", { class: "body" }, none("Loading …"));
  node.append(body);
  loaded.then(() => {
    const row = JSON.parse(rowLines[i]);
    const win = JSON.parse(windowLines[row.window]);
    body.replaceChildren(findings(row, i, win), windowNode(row, win));
    markConclusion(node.querySelector(".conclusion"), index.text[i], row);
  });
}
