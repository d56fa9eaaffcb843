// The log of a job, unchanged: each fact with its data.

import { Child, h } from "../core/dom";
import { clock, cut, oneLine, pretty } from "../core/format";
import { changed, empty, query } from "../core/page";
import type { JobStore } from "../core/store";
import type { Fact } from "../core/types";

const state = { find: "", open: 0, from: -1 };
const page = 200;

export function eventsView(store: JobStore): Child {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  const list = store.facts.filter((f) => (!store.at || f.seq <= store.at) && words.every((w) => `${f.kind} ${f.subjob || ""} ${f.seq}`.toLowerCase().includes(w)));
  const from = state.from < 0 ? Math.max(0, list.length - page) : Math.min(state.from, Math.max(0, list.length - 1));
  const shown = list.slice(from, from + page).reverse();
  return [
    h("div", { class: "toolbar" }, h("input", { type: "search", id: "find", placeholder: "Kind, step or number", "aria-label": "Search events", value: state.find, oninput: (e: any) => ((state.find = e.target.value), (state.from = -1), changed()) }),
      h("span", { class: "muted" }, `${list.length} event${list.length === 1 ? "" : "s"}, newest first`, store.dropped ? `, the oldest ${store.dropped} are not kept here` : "")),
    list.length ? h("ul", { class: "log" }, shown.map(entry)) : empty("No event matches."),
    list.length > page ? h("div", { class: "pager" }, h("button", { disabled: from + page >= list.length, onclick: () => ((state.from = from + page >= list.length - page ? -1 : from + page), changed()) }, "Newer"),
      h("button", { disabled: from === 0, onclick: () => ((state.from = Math.max(0, from - page)), changed()) }, "Older")) : null,
  ];
}

function entry(f: Fact): Child {
  const open = state.open === f.seq;
  return h("li", { key: f.seq },
    h("button", { class: "log-row", "aria-expanded": String(open), onclick: () => ((state.open = open ? 0 : f.seq), changed()) },
      h("span", { class: "num muted" }, `#${f.seq}`), h("span", { class: "num muted wide-only" }, clock(f.time, true)), h("span", { class: `kind k-${f.kind.split(".")[0]}` }, f.kind),
      h("span", { class: "what" }, f.subjob ? h("strong", null, oneLine(f.subjob), f.run ? ` run ${f.run}` : "", " ") : "", cut(oneLine(gist(f)), 160))),
    open ? h("div", { class: "log-open" },
      h("div", { class: "row" }, h("button", { class: "small", onclick: () => query({ at: String(f.seq), tab: "graph" }) }, "Show the graph at this event"),
        f.subjob ? h("button", { class: "small", onclick: () => query({ step: f.subjob! }) }, "Open the step") : null),
      h("pre", null, cut(pretty(f.data ?? f.raw ?? ""), 64 << 10))) : null);
}

/** gist summarises a fact in a line. */
export function gist(f: Fact): string {
  const d = f.data || {};
  switch (f.kind) {
    case "job.requested": return d.request?.goal || "";
    case "graph.created": return `${d.plan?.subjobs?.length ?? "a plan of many"} steps${d.plan?.title ? `: ${d.plan.title}` : ""}`;
    case "graph.replaced": return `plan ${d.plan_version}: ${(d.added || []).length} added, ${(d.removed || []).length} removed`;
    case "plan.rejected": return (d.faults || []).map((x: any) => x.message).join("; ");
    case "subjob.reported": return `${d.outcome}${d.error?.message ? `: ${d.error.message}` : d.output !== undefined ? ` ${JSON.stringify(d.output)}` : ""}`;
    case "subjob.progressed": return d.message || `${d.done}/${d.total}`;
    case "input.requested": return `${d.kind}: ${d.prompt || ""}`;
    case "input.closed": return `${d.action}${d.by ? ` by ${d.by}` : ""}${d.answer !== undefined ? ` ${JSON.stringify(d.answer)}` : ""}`;
    case "job.advanced": return (d.transitions || []).map((x: any) => `${x.subjob} ${x.transition}`).join(", ");
    case "timer.fired": return d.timer || "";
  }
  return d.reason || d.error?.message || d.status || d.by || "";
}
