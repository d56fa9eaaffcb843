// The timeline: for each run how long it queued and worked, with its calls of models and tools. Only rows in view are in the
// document.

import { Child, h, VNode } from "../core/dom";
import { clock, cost, oneLine, span } from "../core/format";
import { msAt } from "../core/frame";
import { changed, empty, faultView, query } from "../core/page";
import type { JobStore } from "../core/store";
import type { Run, TimedCall, Timeline } from "../core/types";

const rowHeight = 26, overscan = 8;
const state = { top: 0, height: 600, scale: 1 };
let asked = 0;

interface Row { id: string; title: string; runs: Run[]; calls: TimedCall[]; begin: number; }

let cached: { t: Timeline; at: number; rows: Row[] } | null = null;

export function timelineView(store: JobStore, step: string): Child {
  const t = store.timeline;
  if (!t || (!store.at && t.seq < store.head && Date.now() - asked > 2000)) {
    asked = Date.now();
    store.wantTimes();
  }
  if (!t) return store.times?.load.fault ? faultView(store.times.load.fault) : h("div", { class: "loading" }, "Reading the timeline …");
  const rows = rowsOf(t, store.at);
  if (!rows.length) return empty("No run has begun.");
  const over = ["FINISHED", "FAILED", "STOPPED"].includes(t.status) && !store.at;
  const end = Math.max(1, store.at ? msAt(t, store.at) : over ? Math.max(...t.runs.map((r) => r.ended || 0), msAt(t, t.seq)) : Date.now() - Date.parse(t.created));
  const first = Math.max(0, Math.floor(state.top / rowHeight) - overscan);
  const last = Math.min(rows.length, Math.ceil((state.top + state.height) / rowHeight) + overscan);
  return h("div", { class: "timeline" },
    h("div", { class: "toolbar" },
      h("div", { class: "keys", "aria-hidden": "true" }, h("span", { class: "key queue" }, "queue"), h("span", { class: "key run" }, "run"), h("span", { class: "key model" }, "model"), h("span", { class: "key tool" }, "tool")),
      h("span", { class: "grow" }),
      h("div", { class: "group", role: "group", "aria-label": "Scale" }, h("button", { class: "small", "aria-label": "Less detail", onclick: () => ((state.scale = Math.max(1, state.scale / 2)), changed()) }, "−"),
        h("button", { class: "small", "aria-label": "More detail", onclick: () => ((state.scale = Math.min(64, state.scale * 2)), changed()) }, "+"))),
    h("div", { class: "lanes", tabindex: "0", role: "region", "aria-label": "Timeline of runs", onscroll: (e: any) => ((state.top = e.target.scrollTop), (state.height = e.target.clientHeight), changed()), ref: (el: any) => requestAnimationFrame(() => ((state.top = el.scrollTop), (state.height = el.clientHeight), changed())) },
      h("div", { class: "lanes-body", style: { height: `${rows.length * rowHeight + 24}px`, width: state.scale > 1 ? `calc(var(--lane-name) + (100% - var(--lane-name)) * ${state.scale})` : "100%" } },
        ticks(end), rows.slice(first, last).map((r, i) => lane(r, (first + i) * rowHeight + 24, end, step)))));
}

function rowsOf(t: Timeline, at: number): Row[] {
  if (cached?.t === t && cached.at === at) return cached.rows;
  const until = at ? msAt(t, at) : Infinity;
  const titles = new Map<string, string>();
  for (const l of t.layouts) for (const n of l.subjobs) titles.set(n.id, n.title || n.id);
  const rows = new Map<string, Row>();
  const begun = (r: Run) => r.queued ?? r.started ?? r.ended ?? 0;
  for (const r of t.runs) {
    if (begun(r) > until) continue;
    const row = rows.get(r.subjob) || ({ id: r.subjob, title: titles.get(r.subjob) || ({ "~plan": "Planning", "~final": "Writing the result" } as any)[r.subjob] || r.subjob, runs: [], calls: [], begin: Infinity } as Row);
    row.runs.push({ ...r, ended: r.ended !== undefined && r.ended <= until ? r.ended : undefined });
    row.begin = Math.min(row.begin, begun(r));
    rows.set(r.subjob, row);
  }
  for (const c of t.calls || []) if (c.begun <= until) rows.get(c.subjob)?.calls.push(c);
  const list = [...rows.values()].sort((a, b) => a.begin - b.begin);
  cached = { t, at, rows: list };
  return list;
}

function ticks(end: number): VNode {
  const steps = [10, 50, 100, 250, 500, 1000, 2000, 5000, 10e3, 30e3, 60e3, 300e3, 600e3, 1800e3, 3600e3, 4 * 3600e3, 86400e3, 7 * 86400e3];
  const every = steps.find((s) => end / s <= 6 * state.scale) || end;
  const list: VNode[] = [];
  for (let at = 0; at <= end && list.length < 500; at += every) list.push(h("span", { class: "tick num", style: { left: `${(at / end) * 100}%` } }, at ? span(at) : "0"));
  return h("div", { class: "ticks", key: "ticks", "aria-hidden": "true" }, list);
}

function lane(r: Row, top: number, end: number, step: string): VNode {
  const at = (ms: number) => `${Math.min(100, (ms / end) * 100)}%`;
  const wide = (from: number, to: number) => `max(2px, ${Math.max(0, ((to - from) / end) * 100)}%)`;
  const text = r.runs.map((x) => `run ${x.run}: ${x.queued !== undefined && x.started !== undefined ? `queued ${span(x.started - x.queued)}, ` : ""}${x.started !== undefined ? `worked ${span((x.ended ?? end) - x.started)}` : "queued"}${x.outcome ? `, ${x.outcome}` : ""}${cost(x) ? `, ${cost(x)}` : ""}`).join("; ");
  return h("button", { key: r.id, class: `lane ${r.id === step ? "selected" : ""}`, style: { top: `${top}px` }, title: text, "aria-label": `${oneLine(r.title)}: ${text}`, onclick: () => query({ step: r.id }) },
    h("span", { class: "lane-name" }, oneLine(r.title)),
    h("span", { class: "lane-bars" },
      r.runs.map((x) => [
        x.queued !== undefined && (x.started ?? x.ended ?? end) > x.queued ? h("i", { class: "bar-queue", style: { left: at(x.queued), width: wide(x.queued, x.started ?? x.ended ?? end) } }) : null,
        x.started !== undefined ? h("i", { class: `bar-run ${x.ended === undefined ? "s-running" : x.outcome === "SUCCESS" ? "s-finished" : x.outcome ? "s-failed" : "s-stopped"}`, style: { left: at(x.started), width: wide(x.started, x.ended ?? end) } }) : null,
      ]),
      r.calls.map((c) => h("i", { class: c.name === "model" ? "bar-model" : "bar-tool", title: `${c.name} ${c.model || ""} ${span(c.took_ms || 0)} at ${clock(c.begun)}`, style: { left: at(c.begun), width: wide(c.begun, c.begun + (c.took_ms || 0)) } }))));
}
