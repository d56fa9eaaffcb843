// The steps of a job as a list: the content of the graph for those who read lines. Long lists are divided into pages.

import { Child, h } from "../core/dom";
import { oneLine } from "../core/format";
import { changed, empty, query } from "../core/page";
import { chip, glyph } from "../core/status";
import type { JobStore } from "../core/store";
import type { Graph, Node } from "../core/types";
import { lineOf } from "../graph/paint";

const urgency = ["failed", "waiting", "running", "ready", "planned", "stopped", "skipped", "finished", "replaced"];
const page = 200;
const state = { sort: "plan", find: "", from: 0 };

export function stepsView(store: JobStore, g: Graph, selected: string): Child {
  const now = store.at ? Date.parse(g.time) : Date.now();
  const found = state.find.toLowerCase();
  let list: Node[] = [...(g.planning ? [g.planning] : []), ...g.subjobs, ...(g.finalizing ? [g.finalizing] : []), ...(g.replaced || [])];
  if (found) list = list.filter((n) => `${n.id} ${n.title || ""} ${n.expert || ""} ${n.state}`.toLowerCase().includes(found));
  if (state.sort === "state") list = [...list].sort((a, b) => urgency.indexOf(a.state) - urgency.indexOf(b.state));
  state.from = Math.min(state.from, Math.max(0, Math.floor((list.length - 1) / page) * page));
  const shown = list.slice(state.from, state.from + page);
  return [
    h("div", { class: "toolbar" },
      h("input", { type: "search", id: "find", placeholder: "Find a step", "aria-label": "Find a step", value: state.find, oninput: (e: any) => ((state.find = e.target.value), (state.from = 0), changed()) }),
      h("select", { "aria-label": "Order", value: state.sort, onchange: (e: any) => ((state.sort = e.target.value), changed()) }, h("option", { value: "plan" }, "As planned"), h("option", { value: "state" }, "Most urgent first"))),
    list.length ? h("ul", { class: "steps" }, shown.map((n) => h("li", { key: n.id, "data-node": n.id, "data-state": n.state, class: n.id === selected ? "selected" : "" },
      h("button", { class: `step-row s-${n.state}`, "aria-current": n.id === selected ? "true" : null, onclick: () => query({ step: n.id }) },
        h("span", { class: "glyph", "aria-hidden": "true" }, glyph[n.state]),
        h("span", { class: "step-text" }, h("span", { class: "title" }, oneLine(titleOf(n))), h("span", { class: "sub" }, oneLine(lineOf(n, now)))),
        h("span", { class: "wide-only mono muted" }, n.id),
        chip(n.state === "planned" ? "planned" : n.state))))) : empty("No step matches."),
    list.length > page ? h("div", { class: "pager" }, h("button", { disabled: state.from === 0, onclick: () => ((state.from -= page), changed()) }, "Back"),
      h("span", { class: "muted" }, `${state.from + 1}–${Math.min(list.length, state.from + page)} of ${list.length}`),
      h("button", { disabled: state.from + page >= list.length, onclick: () => ((state.from += page), changed()) }, "On")) : null,
  ];
}

/** titleOf names a step for people. */
export function titleOf(n: { id: string; title?: string }): string {
  return n.title || ({ "~plan": "Planning", "~final": "Writing the result" } as Record<string, string>)[n.id] || n.id;
}
