// The drawer of a step: its task, its inputs, what it did, what it says, why it does not run, and what can be done about it.

import { Loader, seg } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { bytes, clock, cost, cut, oneLine, pretty, span } from "../core/format";
import { changed, copyable, faultView, link, query } from "../core/page";
import { rendered, value } from "../core/render";
import { chip } from "../core/status";
import type { JobStore } from "../core/store";
import type { Graph, Node, Step } from "../core/types";
import { ActionPanel } from "./actions";
import { callsView } from "./calls";
import { filesView } from "./files";
import { speechView } from "./speech";
import { titleOf } from "./steps";

/** StepState is the drawer of one step: what was fetched, and which parts are open. */
export class StepState {
  step: Loader<Step> | null = null;
  part = "overview";
  panel: ActionPanel;
  private at = 0;
  private seq = 0;

  constructor(private store: JobStore, public id: string) {
    this.panel = new ActionPanel(store, id);
    if (store.offline) return;
    this.step = new Loader<Step>(() => `/jobs/${seg(store.id)}/subjobs/${seg(id)}${store.at ? `?at=${store.at}` : ""}`, changed, 400);
    this.step.refresh();
    this.seq = store.head;
  }

  /** wind loads the step again after the views were wound to another event. */
  wind() {
    if (this.at === this.store.at) return;
    this.at = this.store.at;
    this.step?.refresh();
  }

  /** follow loads it again when the log of its job has grown. */
  follow() {
    if (this.seq === this.store.head || this.store.at) return;
    this.seq = this.store.head;
    this.step?.refresh();
  }

  close() {
    this.step?.close();
  }
}

const parts = ["overview", "brief", "journal", "output", "log"];

export function stepDrawer(s: StepState, store: JobStore, g: Graph): VNode {
  s.follow();
  const n = store.node(s.id);
  const got = s.step?.load.value;
  const facts = store.facts.filter((f) => f.subjob === s.id && (!store.at || f.seq <= store.at));
  return h("aside", { class: "drawer", key: "drawer", "data-step": s.id, "aria-label": `Step ${n ? oneLine(titleOf(n)) : s.id}` },
    h("div", { class: "drawer-head" },
      h("div", null, h("h2", { id: "step-title", tabindex: "-1" }, oneLine(n ? titleOf(n) : s.id)), h("div", { class: "sub mono" }, s.id)),
      h("button", { class: "plain", "aria-label": "Close the step (Escape)", onclick: () => query({ step: null }) }, "×")),
    h("div", { class: "facts" }, n ? chip(n.state) : null, n ? stands(n, store, g) : null),
    n?.reason ? h("p", { class: n.state === "failed" ? "bad-text reason" : "reason" }, n.reason) : null,
    n?.request && !store.offline ? h("p", null, link(`/inbox?job=${seg(store.id)}`, { class: "button primary" }, "Answer its question")) : null,
    s.panel.view(g, n, got?.actions),
    h("div", { class: "tabs small-tabs", role: "tablist", "aria-label": "Parts of the step" }, parts.map((p) => h("button", { role: "tab", "aria-selected": String(s.part === p), onclick: () => ((s.part = p), changed()) }, p[0].toUpperCase() + p.slice(1)))),
    h("div", { class: "drawer-body", role: "tabpanel" },
      s.step?.load.fault && !got ? faultView(s.step.load.fault) : null,
      part(s, store, got, facts, n)));
}

function stands(n: Node, store: JobStore, g: Graph): Child {
  const now = store.at ? Date.parse(g.time) : Date.now();
  const items = [
    n.expert, n.run ? `run ${n.run}` : "", n.attempt && n.attempt > 1 ? `attempt ${n.attempt}${n.attempts ? ` of ${n.attempts}` : ""}` : "",
    n.started ? span((n.ended ? Date.parse(n.ended) : now) - Date.parse(n.started)) : "", cost(n), n.rate ? `${n.rate.toFixed(0)} tok/s` : "", n.version && n.version > 1 ? `plan v${n.version}` : "",
  ];
  return items.filter(Boolean).map((t) => h("span", { class: "fact" }, t!));
}

function part(s: StepState, store: JobStore, got: Step | undefined, facts: any[], n: Node | undefined): Child {
  const report = facts.filter((f) => f.kind === "subjob.reported").at(-1)?.data;
  switch (s.part) {
    case "brief": return briefPart(got, store, s.id);
    case "journal": return got ? callsView(store, s.id, got.calls || []) : nothing(store);
    case "output": return outputPart(store, got, report);
    case "log": return logPart(store, s.id, got, report);
  }
  return overview(store, s.id, got, facts, n);
}

function nothing(store: JobStore): Child {
  return store.offline ? h("p", { class: "muted" }, "The journal of calls is not shown from a file; times of calls are in the timeline.") : h("div", { class: "loading" }, "Reading …");
}

function overview(store: JobStore, id: string, got: Step | undefined, facts: any[], n: Node | undefined): Child {
  const spec = got?.spec || specOf(store, id);
  const speech = store.at ? undefined : store.live.get(id);
  const runs = got?.runs || facts.filter((f) => f.kind === "subjob.reported").map((f) => ({ run: f.run, ended: f.time, outcome: f.data?.outcome, lesson: f.data?.lesson, error: f.data?.error, owner: f.data?.owner, started: f.data?.started, seq: f.seq, tokens: f.data?.tokens, cost_usd: f.data?.cost_usd }));
  const why = n && ["ready", "planned", "waiting", "failed", "stopped"].includes(n.state) ? got?.why || [] : [];
  return [
    why.length ? section("Why it does not run", h("ul", { class: "plain-list" }, why.map((b) => h("li", null, b.message, b.unblock ? copyable(b.unblock, "CLI") : null)))) : null,
    speech?.items.length && n?.state === "running" ? section("Live", speechView(speech, 12)) : null,
    spec ? section("Goal", rendered({ kind: "markdown", text: String(spec.goal || "") }, store.offline),
      spec.completion_criteria ? h("p", null, h("strong", null, "Done when "), spec.completion_criteria) : null, spec.thinking ? h("p", { class: "muted" }, spec.thinking) : null) : null,
    n?.dependencies?.length ? section("After", h("div", { class: "row" }, n.dependencies.slice(0, 40).map((d) => h("button", { class: "small", onclick: () => query({ step: d }) }, oneLine(store.node(d)?.title || d))))) : null,
    got?.lessons?.length ? section("Lessons", h("ul", { class: "plain-list" }, [...new Set(got.lessons)].map((l) => h("li", null, l)))) : null,
    runs.length ? section("Runs", h("ul", { class: "plain-list runs" }, [...runs].reverse().slice(0, 50).map((r) => h("li", { key: r.run },
      h("span", { class: "num" }, `run ${r.run}`), " ", r.outcome ? h("span", { class: r.outcome === "SUCCESS" ? "good-text" : "bad-text" }, r.outcome.toLowerCase().replace(/_/g, " ")) : "no report",
      r.started && r.ended ? h("span", { class: "num muted" }, ` · ${span(Date.parse(r.ended) - Date.parse(r.started))}`) : null, cost(r) ? h("span", { class: "num muted" }, ` · ${cost(r)}`) : null,
      r.owner ? h("span", { class: "muted" }, ` · ${cut(oneLine(r.owner), 28)}`) : null, r.error ? h("div", { class: "bad-text" }, r.error.message, r.error.cause ? `: ${cut(r.error.cause, 500)}` : "") : r.lesson ? h("div", { class: "muted" }, cut(r.lesson, 500)) : null)))) : null,
    !spec && !runs.length ? h("p", { class: "muted" }, "Nothing is known about this step at this event.") : null,
  ];
}

/** specOf finds the text of a step in the plans of the log, for a page without a server. */
function specOf(store: JobStore, id: string): any {
  for (const f of [...store.facts].reverse()) {
    const found = (f.data?.plan?.subjobs as any[] | undefined)?.find?.((s) => s.id === id);
    if (found) return found;
  }
  return undefined;
}

function briefPart(got: Step | undefined, store: JobStore, id: string): Child {
  if (!got) {
    const spec = specOf(store, id);
    return spec ? value(spec, store.offline) : nothing(store);
  }
  const b = got.brief;
  return [
    got.inputs?.length ? section("Inputs", got.inputs.map((i) => h("details", { key: i.subjob },
      h("summary", null, oneLine(i.subjob), h("span", { class: "muted num" }, i.skipped ? " skipped" : ` ${bytes(i.size)}${i.truncated ? ", the beginning" : ""}`)), i.output === undefined ? null : value(i.output)))) : null,
    b?.place ? section("Place", h("p", null, `step ${b.place.n} of ${b.place.of}`, b.plan?.title ? ` of “${oneLine(b.plan.title)}”` : "")) : null,
    b?.request ? section("Request", rendered({ kind: "markdown", text: String(b.request.goal || "") }), b.request.context ? h("p", null, b.request.context) : null) : null,
    b?.lessons?.length ? section("Lessons told", h("ul", null, b.lessons.map((l: string) => h("li", null, l)))) : null,
    b?.deadline || b?.budget ? section("Limits", h("p", null, b.deadline ? `ends by ${clock(b.deadline)} ` : "", b.budget ? `left ${cost(b.budget)}` : "")) : null,
    section("As planned", rendered({ kind: "json", text: JSON.stringify(got.spec, null, 2) })),
    b ? h("details", null, h("summary", null, "The whole brief"), rendered({ kind: "json", text: JSON.stringify(b, null, 2) })) : h("p", { class: "muted" }, "No run has had a brief yet."),
  ];
}

function outputPart(store: JobStore, got: Step | undefined, report: any): Child {
  const output = got?.output ?? report?.output;
  const ref = got?.output_ref || report?.output_ref;
  const files = got?.artifacts || report?.artifacts || [];
  return [
    output !== undefined ? section("Result", value(output, store.offline)) : ref ? section("Result", filesView(store.id, [{ ...ref, name: ref.name || "result.json" }], store.offline)) : h("p", { class: "muted" }, "There is no result yet."),
    report?.warnings?.length ? section("Warnings", report.warnings.map((w: any) => h("p", null, w.message))) : null,
    files.length ? section("Files", filesView(store.id, files, store.offline)) : null,
  ];
}

function logPart(store: JobStore, id: string, got: Step | undefined, report: any): Child {
  const speech = store.at ? undefined : store.live.get(id);
  const text = got?.log ?? report?.log;
  return [
    speech?.items.length ? section("Live", speechView(speech, 400)) : null,
    text ? section("Standard error", h("pre", { class: "log-text" }, cut(pretty(text), 64 << 10)), (got?.log_size || 0) > text.length ? copyable(`jobgraph logs ${store.id}/${id}`, "whole") : null) : null,
    !speech?.items.length && !text ? h("p", { class: "muted" }, "Nothing was written.") : null,
  ];
}

/** section is a part of a drawer under a heading. */
export function section(title: string, ...kids: Child[]): VNode {
  return h("section", { key: title }, h("h3", null, title), kids);
}
