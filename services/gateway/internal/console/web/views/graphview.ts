// The graph of a job with its tools: search, zoom, groups, plan versions, legend.

import { h, VNode } from "../core/dom";
import { clock, oneLine } from "../core/format";
import { changed, empty, query } from "../core/page";
import { glyph, order } from "../core/status";
import type { JobStore } from "../core/store";
import type { Graph, Node } from "../core/types";
import type { JobGraph } from "../graph/element";

/** GraphState is what the reader has chosen in a graph. */
export class GraphState {
  find = "";
  only = ""; // A state, or empty for all.
  folded = new Set<string>();
  element: JobGraph | null = null;

  /** sought returns a test for steps that a search excludes; null without a search. */
  sought(): ((n: Node) => boolean) | null {
    const words = this.find.toLowerCase(), only = this.only;
    return words || only ? (n) => (only !== "" && n.state !== only) || !`${n.id} ${n.title || ""} ${n.expert || ""}`.toLowerCase().includes(words) : null;
  }
}

export function graphView(store: JobStore, g: Graph, s: GraphState, step: string): VNode {
  if (!g.subjobs.length) return h("div", { class: "graph-empty" }, planningView(g));
  const groups = [...new Set(g.subjobs.map((n) => n.group).filter(Boolean))] as string[];
  const dim = s.sought();
  for (const n of g.subjobs) if (n.state === "running") n.rate = store.live.get(n.id)?.rate() || 0;
  for (const o of g.questions || []) {
    const n = store.node(o.subjob);
    if (n) n.asked = o.user;
  }
  const fold = (name: string) => {
    if (!name) return;
    const next = new Set(s.folded);
    if (!next.delete(name)) next.add(name);
    s.folded = next;
    changed();
  };
  return h("div", { class: "graph" },
    h("div", { class: "toolbar" },
      h("input", { type: "search", id: "find", placeholder: "Find a step", "aria-label": "Find a step", value: s.find, oninput: (e: any) => ((s.find = e.target.value), changed()), onkeydown: (e: any) => e.key === "Enter" && first(g, s) }),
      legend(g, s),
      h("span", { class: "grow" }),
      versions(g),
      groups.length ? h("button", { class: "small", onclick: () => ((s.folded = s.folded.size ? new Set() : new Set(groups)), changed()) }, s.folded.size ? "Unfold all" : "Fold groups") : null,
      h("div", { class: "group", role: "group", "aria-label": "Zoom" },
        h("button", { class: "small", "aria-label": "Zoom out", onclick: () => s.element?.zoom(0.8) }, "−"),
        h("button", { class: "small", "aria-label": "Zoom in", onclick: () => s.element?.zoom(1.25) }, "+"),
        h("button", { class: "small", onclick: () => s.element?.fit(true) }, "Fit"))),
    h("job-graph", {
      key: "graph", opaque: true, "aria-label": `Graph of ${g.subjobs.length} steps. Arrow keys move, Enter opens a step, f folds its group, plus and minus zoom, 0 shows all.`,
      ref: (el: JobGraph) => (s.element = el),
      "prop:frozen": store.at ? Date.parse(g.time) : 0, "prop:folded": s.folded, "prop:graph": g, "prop:dim": dim, "prop:selected": step,
      onpick: (e: CustomEvent) => query({ step: e.detail || null }), onfold: (e: CustomEvent) => fold(e.detail),
    }),
    g.replaced?.length ? h("details", { class: "replaced" }, h("summary", null, `${g.replaced.length} replaced step${g.replaced.length > 1 ? "s" : ""} of earlier plans`),
      h("ul", null, g.replaced.slice(0, 200).map((n) => h("li", null, h("button", { class: "linklike", onclick: () => query({ step: n.id }) }, h("s", null, oneLine(n.title || n.id))),
        n.replaced_by?.length ? h("span", { class: "muted" }, ` → ${n.replaced_by.join(", ")}`) : null)))) : null);
}

/** first opens the first step that matches now, since the page may not have been drawn after the last key. */
function first(g: Graph, s: GraphState) {
  const dim = s.sought();
  const n = g.subjobs.find((n) => !dim?.(n));
  if (!n) return;
  s.element?.reveal(n.id);
  query({ step: n.id });
}

function legend(g: Graph, s: GraphState): VNode {
  const shown = order.filter((o) => g.counts?.[o] && o !== "replaced");
  return h("div", { class: "legend", role: "group", "aria-label": "Show only steps that are" }, shown.map((o) => h("button", {
    key: o, class: `legend-item s-${o}`, "aria-pressed": String(s.only === o), onclick: () => ((s.only = s.only === o ? "" : o), changed()),
  }, h("span", { class: "glyph", "aria-hidden": "true" }, glyph[o]), `${g.counts![o]} ${o}`)));
}

function versions(g: Graph): VNode | null {
  if (!g.versions || g.versions.length < 2) return null;
  return h("select", { "aria-label": "Plan version", value: String(g.plan_version), onchange: (e: any) => {
    const v = g.versions!.find((v) => String(v.plan_version) === e.target.value);
    if (v) query({ at: v === g.versions!.at(-1) ? null : String(v.seq) });
  } }, g.versions.map((v) => h("option", { value: String(v.plan_version), selected: v.plan_version === g.plan_version },
    `plan v${v.plan_version} · ${clock(v.time)}${v.added?.length ? ` · +${v.added.length}` : ""}${v.removed?.length ? ` −${v.removed.length}` : ""}${v.by ? ` · ${oneLine(v.by)}` : ""}`)));
}

function planningView(g: Graph): VNode {
  const p = g.planning;
  if (g.status === "FAILED" || g.status === "STOPPED" || g.status === "FINISHED") return empty(`The job ${g.status === "FINISHED" ? "was answered" : "ended"} without a plan.`, p?.reason ? h("p", { class: "bad-text" }, p.reason) : null);
  if (p?.state === "waiting") return empty("Planning waits for an answer.", h("p", null, "The question is in the inbox."));
  return empty("The plan is being made.", h("p", { class: "muted" }, "Its steps appear here as soon as it is checked."), p ? h("button", { onclick: () => query({ step: p.id }) }, "Watch the planner") : null);
}
