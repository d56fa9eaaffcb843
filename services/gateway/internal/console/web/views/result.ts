// The outcome of a job: its result or the reason why it has none, its cost and its files.

import { api, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { cost, span } from "../core/format";
import { changed, empty, faultView } from "../core/page";
import { value } from "../core/render";
import type { JobStore } from "../core/store";
import type { File, Graph } from "../core/types";
import { filesView } from "./files";

const files = new Map<string, { list?: File[]; seq: number }>();

export function resultView(store: JobStore, g: Graph): Child {
  const end = [...store.facts].reverse().find((f) => /^job\.(finished|failed|stopped)$/.test(f.kind) && (!store.at || f.seq <= store.at));
  const d = end?.data || {};
  const answered = [...store.facts].reverse().find((f) => f.kind === "job.answered");
  const list = filesOf(store, g);
  return h("div", { class: "result" },
    !end ? empty("The job has not ended.", h("p", { class: "muted" }, "Results of steps are in their drawers.")) : null,
    d.error ? faultView(d.error) : null,
    d.outcome === "guidance" ? h("p", { class: "hint" }, "The job could not be planned; this is what is missing:") : null,
    d.result !== undefined ? value(d.result, store.offline) : d.result_ref ? h("p", null, `The result has ${d.result_ref.size} bytes and is kept as a blob: `, h("code", null, `jobgraph get ${store.id}`)) : answered && !d.error ? value(answered.data?.answer, store.offline) : null,
    end ? h("p", { class: "muted" }, [`took ${span(d.duration_ms || 0)}`, cost(d)].filter(Boolean).join(" · ")) : null,
    list.length ? [h("h2", null, "Files"), filesView(store.id, list, store.offline)] : null);
}

function filesOf(store: JobStore, g: Graph): File[] {
  if (store.offline) return store.facts.flatMap((f) => (f.kind === "subjob.reported" ? (f.data?.artifacts || []).map((a: File) => ({ ...a, subjob: f.subjob })) : []));
  let f = files.get(store.id);
  if (!f) files.set(store.id, (f = { seq: 0 }));
  if (f.seq !== g.seq && !store.at) {
    const entry = f;
    entry.seq = g.seq;
    api.get<{ artifacts: File[] }>(`/jobs/${seg(store.id)}/artifacts`).then((a) => (entry.list = a.artifacts), () => {}).finally(changed);
  }
  return f.list || [];
}
