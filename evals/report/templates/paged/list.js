// ---- the list

function draw() {
  const pages = Math.max(1, Math.ceil(shown.length / index.page));
  page = Math.min(Math.max(page, 0), pages - 1);
  const first = page * index.page;
  const rows = shown.slice(first, first + index.page);
  itemList.replaceChildren(...rows.map((i) => el("li", null, itemNode(i))));
  itemList.setAttribute("start", first + 1);
  byId("unfold").hidden = rows.length === 0;
  const range = rows.length ? ` Showing ${number.format(first + 1)}–${number.format(first + rows.length)}.` : "";
  byId("status").textContent =
    total === 0
      ? `This run holds no ${index.many}.`
      : `${number.format(shown.length)} of ${number.format(total)} ${index.many}.${range}`;
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

// One item: its summary at once, its body when it is first opened.
function unfolding(i, summary, fill) {
  const node = el("details", { "data-item": index.id[i] }, summary);
  node.addEventListener("toggle", () => {
    if (!node.open || node.dataset.filled) return;
    node.dataset.filled = "yes";
    const body = el("div", { class: "body" }, none("Loading …"));
    node.append(body);
    loaded.then(() => fill(body, JSON.parse(lines.rows[i]), node));
  });
  summary.addEventListener("click", () => {
    if (node.open) rememberFilters();
    else history.replaceState(null, "", `#${encodeFragment(index.id[i])}`);
  });
  return node;
}

const encodeFragment = (id) => encodeURIComponent(id).replaceAll("%2F", "/");
const addressOf = (page, id) => `${index.pages[page]}#${encodeFragment(id)}`;
