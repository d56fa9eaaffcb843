// An export dropped into the page: it is read and wound back here, without a server.

import { Child, h } from "../core/dom";
import { bytes } from "../core/format";
import { changed, faultView, head, link, Page, say } from "../core/page";
import { JobStore } from "../core/store";
import type { Fact, Fault, Timeline } from "../core/types";
import { jobView } from "./job";

const most = 256 << 20; // Bytes of an uncompressed file; a compressed one may expand beyond the memory.
let kept: { timeline: Timeline; facts: Fact[]; name: string } | null = null;

export function openPage(q: URLSearchParams): Page {
  let shown: Page | null = null;
  let fault: Fault | null = null;
  let busy = "";
  const show = () => {
    if (!kept) return;
    const store = new JobStore(kept.timeline.job_id, changed, say);
    store.fill(kept.timeline, kept.facts);
    shown = jobView(store, q, [link("/jobs", null, "Jobs"), " / ", h("button", { class: "linklike", onclick: () => ((kept = null), shown?.close(), (shown = null), changed()) }, kept.name)]);
  };
  const take = async (file: File | undefined) => {
    if (!file) return;
    fault = null;
    busy = file.name;
    changed();
    try {
      kept = { ...(await readExport(file)), name: file.name };
      show();
    } catch (e: any) {
      fault = { code: "malformed", message: e.message, hint: e.hint || "make one with: jobgraph export ID -o job.jsonl.gz" };
    }
    busy = "";
    changed();
  };
  show();
  const drop = (e: DragEvent) => {
    e.preventDefault();
    if (e.type === "drop") take(e.dataTransfer?.files[0]);
  };
  addEventListener("dragover", drop);
  addEventListener("drop", drop);
  const view = (): Child => shown ? shown.view() : [
    head("Open an export"),
    fault ? faultView(fault) : null,
    h("div", { class: "dropzone" },
      h("p", { class: "empty-title" }, busy ? `Reading ${busy} …` : "Drop an export of a job here"),
      h("p", { class: "muted" }, "It is read in this page and stays here. The graph and every step can be wound back to any event."),
      h("input", { type: "file", id: "file", "aria-label": "Export file", accept: ".jsonl,.gz,.json", onchange: (e: any) => take(e.target.files[0]) })),
  ];
  return {
    get title() {
      return shown?.title || "Open an export";
    },
    view,
    moved(next) {
      q = next;
      shown?.moved?.(next);
      changed();
    },
    key: (e) => shown?.key?.(e) || false,
    close() {
      removeEventListener("dragover", drop);
      removeEventListener("drop", drop);
      shown?.close();
    },
  };
}

class Unusable extends Error {
  constructor(message: string, public hint = "") {
    super(message);
  }
}

/** readExport reads an export file, compressed or not, line by line. */
export async function readExport(file: Blob): Promise<{ timeline: Timeline; facts: Fact[] }> {
  if (file.size > most) throw new Unusable(`the file has ${bytes(file.size)}, at most ${bytes(most)} are read`);
  const first = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = first[0] === 0x1f && first[1] === 0x8b;
  const stream: ReadableStream<Uint8Array> = packed ? (file.stream() as any).pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const from = (stream as any).pipeThrough(new TextDecoderStream()).getReader();
  const facts: Fact[] = [];
  let timeline: Timeline | null = null;
  let rest = "", n = 0;
  const line = (text: string) => {
    if (!text.trim()) return;
    n++;
    let v: any;
    try {
      v = JSON.parse(text);
    } catch {
      throw new Unusable(`line ${n} is not JSON: the file is damaged or no export`);
    }
    if (n === 1) {
      if (typeof v.format !== "string" || !v.format.startsWith("jobgraph.export")) throw new Unusable("this is no export of a job");
      if (!v.timeline) throw new Unusable("this export has no timeline", "it is of an earlier release: export the job again with this one");
      timeline = v.timeline;
      return;
    }
    const fact = factOf(v);
    if (fact) facts.push(fact);
  };
  for (;;) {
    const { value, done } = await from.read();
    rest += value || "";
    let at = 0;
    for (let end; (end = rest.indexOf("\n", at)) >= 0; at = end + 1) line(rest.slice(at, end));
    rest = rest.slice(at);
    if (done) break;
  }
  line(rest);
  if (!timeline) throw new Unusable("the file is empty");
  return { timeline, facts };
}

/** factOf reads a record whose subject is an event's: PREFIX.event.SHARD.JOB.NOUN.VERB, then SUBJOB and RUN. */
function factOf(v: any): Fact | null {
  const words = String(v.subject || "").split(".");
  const at = words.indexOf("event");
  if (at < 0 || at > 8 || words.length < at + 4) return null;
  const type = String(v.headers?.["ce-type"] || v.headers?.["Ce-Type"] || "");
  const noun = words[at + 3], verb = words[at + 4];
  const kind = /io\.jobgraph\.(.+)\.v\d+/.exec(type)?.[1] || (verb ? `${noun}.${verb}` : noun);
  const run = Number(words[at + 6]);
  let data = v.body;
  if (typeof data === "string") {
    try {
      data = JSON.parse(data);
    } catch { /* Shown as it is. */ }
  }
  const about = ["subjob", "input", "graph", "plan"].includes(noun) && verb && words[at + 5] ? { subjob: words[at + 5], run: isFinite(run) ? run : undefined } : {};
  return { seq: Number(v.seq) || 0, time: v.time, kind, ...(kind === "input.closed" ? {} : about), data };
}
