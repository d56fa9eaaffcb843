// A plan as a picture before it runs: the server computes the layout, and it is drawn as a graph of planned steps.

import { api } from "../core/api";
import { Child, h } from "../core/dom";
import { changed } from "../core/page";
import type { Fault, Graph, Layout } from "../core/types";

interface Laid { layout?: Layout; faults?: Fault[]; warnings?: Fault[]; failed?: string; }

/** Picture shows one plan, which may be edited. */
export class Picture {
  private key = "";
  private graph: Graph | null = null;
  private laid: Laid | null = null;
  private timer = 0;

  /** view shows a plan; it asks the server once typing has paused. */
  view(plan: unknown): Child {
    const now = JSON.stringify(plan);
    if (now !== this.key) {
      this.key = now;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => {
        api.send<Laid>("POST", "/layout", { plan }).then((got) => this.show(now, got), (e) => this.show(now, { failed: e.message }));
      }, 300);
    }
    const { laid, graph } = this;
    if (!laid) return null;
    return h("div", { class: "plan-picture" },
      laid.faults?.map((f) => h("p", { class: "bad-text" }, f.field ? `${f.field}: ` : "", f.message)), laid.warnings?.map((f) => h("p", { class: "muted" }, f.message)),
      laid.failed ? h("p", { class: "muted" }, `No preview: ${laid.failed}`) : null,
      graph ? h("job-graph", { key: "picture", class: "small-graph", opaque: true, "aria-label": `Preview of ${graph.subjobs.length} steps`, "prop:graph": graph }) : null);
  }

  private show(asked: string, got: Laid) {
    if (asked !== this.key) return;
    const l = got.layout;
    this.laid = got;
    this.graph = l ? { ...l, job_id: "", status: "CREATED", seq: 0, head: 0, time: "", created: "", edges: l.edges || [], subjobs: (l.subjobs || []).map((n) => ({ ...n, state: "planned" as const })) } : null;
    changed();
  }
}
