// ---- addresses and events

function goToFragment() {
  const fragment = location.hash.slice(1);
  state = { ...blank };
  if (fragment.startsWith("?")) {
    for (const [name, value] of new URLSearchParams(fragment.slice(1))) {
      if (Object.hasOwn(blank, name)) state[name] = value;
    }
    if (state[CHOICE] && !outcomeNames.includes(state[CHOICE])) state[CHOICE] = "";
  }
  page = 0;
  refresh();
  if (fragment && !fragment.startsWith("?")) openItem(decoded(fragment));
}

function decoded(fragment) {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function openItem(id) {
  const position = shown.findIndex((i) => index.id[i] === id);
  if (position < 0) {
    byId("status").textContent += ` There is no ${index.one} ${cutTo(id, 120)} in this run.`;
    return;
  }
  page = Math.floor(position / index.page);
  draw();
  const node = itemList.children[position % index.page].firstElementChild;
  node.open = true;
  node.querySelector("summary").focus({ preventScroll: true });
  node.scrollIntoView();
}

function refresh() {
  select();
  showFilters();
  draw();
}

function filtersChanged() {
  state = readFilters();
  page = 0;
  rememberFilters();
  select();
  draw();
}

let waiting = 0;
byId("more").open = matchMedia("(min-width: 700px)").matches;
buildFilters();
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("change", (event) => event.target.id === "q" || filtersChanged());
byId("filters").addEventListener("reset", () => setTimeout(filtersChanged));
byId("q").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(filtersChanged, 150);
});
byId("unfold").addEventListener("click", () => {
  const all = [...itemList.querySelectorAll(":scope > li > details")];
  const open = all.some((node) => !node.open);
  for (const node of all) node.open = open;
});
window.addEventListener("hashchange", goToFragment);
goToFragment();
loaded.then(() => state.q && filtersChanged());
