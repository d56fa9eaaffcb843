// Two jobs side by side: their graphs, and where they differ.

import { api, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { cost, oneLine, span } from "../core/format";
import { changed, faultView, head, link, Page } from "../core/page";
import { rendered } from "../core/render";
import { bar, chip } from "../core/status";
import { JobStore } from "../core/store";
import type { Fault, Step } from "../core/types";

interface Comparison {
  plan?: { plan?: string[]; added?: string[]; removed?: string[]; changed?: { subjob: string; fields?: { field: string }[] }[] };
  subjobs?: { subjob?: string; id?: string; fields?: string[]; a?: any; b?: any }[];
}

export function comparePage(_: URLSearchParams, a: string, b: string): Page {
  const stores = [a, b].map((id) => new JobStore(id, changed, () => {}));
  for (const s of stores) s.open();
  let got: Comparison | null = null;
  let fault: Fault | null = null;
  let open = "";
  let results: unknown[] | null = null; // The results of the open step in both jobs.
  const choose = (id: string) => {
    open = id;
    results = null;
    changed();
    if (!id) return;
    const result = (s: JobStore) => api.get<Step>(`/jobs/${seg(s.id)}/subjobs/${seg(id)}`).then((g) => g.output ?? (g.output_ref ? { digest: g.output_ref.digest, size: g.output_ref.size } : null), () => null);
    Promise.all(stores.map(result)).then((got) => {
      if (open === id) results = got;
      changed();
    });
  };
  api.get<Comparison>(`/jobs/${seg(a)}/diff?with=${seg(b)}`).then((c) => {
    got = c;
    const first = c.subjobs?.[0]?.subjob || c.plan?.changed?.[0]?.subjob;
    if (first && !open) choose(first); // The differences are what a reader looks for.
  }, (e) => (fault = e.fault || null)).finally(changed);
  const side = (s: JobStore): Child => {
    const g = s.frame;
    if (!g) return h("div", { class: "side-job" }, s.graph?.load.fault ? faultView(s.graph.load.fault) : h("div", { class: "loading" }, "Reading …"));
    const end = g.ended ? Date.parse(g.ended) : Date.now();
    return h("div", { class: "side-job", key: s.id }, h("h2", null, link(`/jobs/${seg(s.id)}`, null, oneLine(g.title || g.goal || s.id))), h("div", { class: "sub mono" }, s.id),
      h("div", { class: "facts" }, chip(g.status), bar(g.counts), h("span", { class: "fact num" }, span(end - Date.parse(g.created))), h("span", { class: "fact num" }, cost(g.cost) || "$0")),
      h("job-graph", { class: "small-graph", opaque: true, "aria-label": `Graph of ${s.id}`, "prop:graph": g, "prop:selected": open, onpick: (e: CustomEvent) => choose(e.detail) }));
  };
  const step = (s: JobStore) => s.node(open);
  const view = (): Child => [
    h("div", { class: "crumb" }, link("/jobs", null, "Jobs"), " / compare"),
    head("Two jobs side by side"),
    h("div", { class: "two" }, stores.map(side)),
    fault ? faultView(fault) : null,
    open ? h("section", null, h("h2", null, oneLine(step(stores[0])?.title || step(stores[1])?.title || open)),
      h("div", { class: "two" }, stores.map((s) => h("div", { key: s.id }, step(s) ? [chip(step(s)!.state), " ", [step(s)!.expert, cost(step(s))].filter(Boolean).join(" · "), step(s)!.reason ? h("p", { class: "bad-text" }, step(s)!.reason) : null, h("p", null, link(`/jobs/${seg(s.id)}?step=${seg(open)}`, null, "Open the step"))] : h("p", { class: "muted" }, "not in this job")))),
      !results ? h("div", { class: "loading" }, "Reading …") : JSON.stringify(results[0]) === JSON.stringify(results[1]) ? h("p", { class: "muted" }, results[0] === null ? "Neither has a result." : "The results are the same.") : rendered({ kind: "diff", before: results[0], after: results[1] })) : h("p", { class: "muted" }, "Choose a step in either graph to see how its results differ."),
    got ? [h("h2", null, "Differences"), differences(got)] : null,
  ];
  return { title: "Compare", view, close: () => stores.forEach((s) => s.close()) };
}

function differences(c: Comparison): Child {
  const p = c.plan || {};
  const changes = [...(p.added || []).map((x) => ["only in the second", x]), ...(p.removed || []).map((x) => ["only in the first", x]), ...(p.changed || []).map((x) => [`planned with another ${(x.fields || []).map((f) => f.field).join(", ")}`, x.subjob])];
  const steps = c.subjobs || [];
  return !changes.length && !steps.length && !(p.plan || []).length ? h("p", { class: "muted" }, "Plan and results are the same.") : h("div", { class: "two" },
    h("div", null, h("h3", null, "Plan"), changes.length ? h("table", { class: "data" }, changes.map(([what, id]) => h("tr", null, h("td", { class: "mono" }, oneLine(id)), h("td", null, what)))) : h("p", { class: "muted" }, "The same.")),
    h("div", null, h("h3", null, "Results"), steps.length ? h("table", { class: "data" }, steps.map((s) => h("tr", null, h("td", { class: "mono" }, oneLine(s.subjob || s.id)), h("td", null, (s.fields || []).join(", "), note(s.a, s.b))))) : h("p", { class: "muted" }, "The same.")));
}

/** note says what a step took in both jobs. */
function note(a: any, b: any): Child {
  const of = (x: any) => (x ? [String(x.status || "").toLowerCase(), x.duration_ms ? span(x.duration_ms) : "", cost(x)].filter(Boolean).join(" · ") : "absent");
  return h("div", { class: "muted small-text" }, `${of(a)} → ${of(b)}`);
}
