// A plan as a picture before it runs: laid out by the server, drawn like a graph of planned steps.

import { api } from "../core/api";
import { Child, h } from "../core/dom";
import { changed } from "../core/page";
import type { Fault, Graph, Layout } from "../core/types";

interface Laid { layout?: Layout; faults?: Fault[]; warnings?: Fault[]; failed?: string; }

let key = "";
let laid: { layout?: Layout; graph?: Graph; faults: Fault[]; warnings: Fault[]; failed?: string } | null = null;
let timer = 0;

/** picture shows a plan; it asks once the typing has paused. */
export function picture(plan: unknown): Child {
  const now = JSON.stringify(plan);
  if (now !== key) {
    key = now;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const asked = key;
      api.send<Laid>("POST", "/layout", { plan }).then((got) => show(asked, got), (e) => show(asked, { failed: e.message }));
    }, 300);
  }
  if (!laid) return null;
  return h("div", { class: "plan-picture" },
    laid.faults.map((f) => h("p", { class: "bad-text" }, f.field ? `${f.field}: ` : "", f.message)), laid.warnings.map((f) => h("p", { class: "muted" }, f.message)),
    laid.failed ? h("p", { class: "muted" }, `No preview: ${laid.failed}`) : null,
    laid.graph ? h("job-graph", { key: "picture", class: "small-graph", opaque: true, "aria-label": `Preview of ${laid.graph.subjobs.length} steps`, "prop:graph": laid.graph }) : null);
}

function show(asked: string, got: Laid) {
  if (asked !== key) return;
  const l = got.layout && { ...got.layout, subjobs: got.layout.subjobs || [], edges: got.layout.edges || [] };
  const graph = l && ({ ...l, job_id: "", status: "CREATED", seq: 0, head: 0, time: "", created: "", subjobs: l.subjobs.map((n) => ({ ...n, state: "planned" as const })) } as Graph);
  laid = { layout: l, graph, faults: got.faults || [], warnings: got.warnings || [], failed: got.failed };
  changed();
}
