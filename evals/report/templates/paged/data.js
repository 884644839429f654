"use strict";
// Untrusted text reaches the page through text nodes and textContent alone, never as markup.

const byId = (id) => document.getElementById(id);
const index = JSON.parse(byId("index").textContent);
const total = index.id.length;
const number = new Intl.NumberFormat("en");
const FACETS = Object.keys(index.facets);
const CHOICE = index.choice; // the filter with a button for each choice
const outcomeNames = index.outcomes.map(([name]) => name);
const blank = { q: "", [CHOICE]: "", ...Object.fromEntries(FACETS.map((name) => [name, ""])), order: "" };
let state = { ...blank };
const itemList = document.querySelector(".items");
let shown = [];
let page = 0;

// ---- the document's long blocks: read by line, once the whole file is there; what lines refer to

const lines = {};
let shared = null;

const loaded = new Promise((resolve) => {
  const read = () => {
    for (const block of document.querySelectorAll('script[type="application/jsonl"]')) {
      lines[block.id] = block.textContent.split("\n");
      block.remove();
    }
    shared = JSON.parse(byId("shared").textContent);
    resolve();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
  else read();
});

// ---- small builders

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const prose = (text, attributes) => el("p", { class: "prose", dir: "auto", ...attributes }, text);
const chip = (text, kind) => el("span", { class: `chip ${kind ?? ""}`, dir: "auto" }, text);
const section = (title, ...children) => el("section", null, el("h3", null, title), children);
const none = (text) => el("p", { class: "soft" }, text);
