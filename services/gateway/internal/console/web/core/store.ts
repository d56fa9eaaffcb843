// The store of one job: its facts by sequence, and what the views show of them. A live store holds the server's newest graph, which
// it requests again whenever the log grows; wound back, it shows a frame of the timeline. An export is a store whose timeline came
// from a file.

import { Heard, Loader, Stream, follow, seg } from "./api";
import { frameAt } from "./frame";
import type { Fact, Graph, Item, Node, Timeline } from "./types";

/** Told receives changes to be announced to those who do not see the picture. */
export type Told = (text: string) => void;

const mostFacts = 20_000;

export class JobStore {
  facts: Fact[] = [];
  dropped = 0; // How many of the oldest facts were dropped again.
  missing = ""; // What is missing, according to the server, between what was seen before and what follows.
  graph: Loader<Graph> | null = null;
  times: Loader<Timeline> | null = null;
  at = 0; // The event to which the views are wound back; 0 follows the log.
  wanted = -1; // The part of the log, 0 to 1, to wind to once the timeline has arrived; -1 for none.
  live = new Map<string, Speech>(); // The live text of runs, by SubJob.
  ended = false;
  private streams: Stream[] = [];
  private imported: Timeline | null = null;
  private shown: { key: string; graph: Graph } | null = null;
  private seen = new Map<string, string>();
  private index: { of: Graph | null; nodes: Map<string, Node> } = { of: null, nodes: new Map() }; // The SubJobs of the newest graph, by id.
  private watchers = 0;
  private saying: Stream | null = null;

  constructor(public id: string, private changed: () => void, private told: Told) {}

  /** open reads a job from the server and follows it. */
  open() {
    const path = `/jobs/${seg(this.id)}`;
    this.graph = new Loader<Graph>((have) => (have ? `${path}/graph?since=${have.seq}` : `${path}/graph`), () => {
      this.announce();
      this.changed();
    }, 80, merged);
    this.times = new Loader<Timeline>(() => `${path}/timeline?calls=true`, this.changed, 1000, (_, t) => whole(t));
    this.graph.refresh();
    this.streams.push(follow(`${path}/events`, "", (batch) => this.take(batch)));
  }

  /** fill turns the store into one of an export; no server is asked. */
  fill(timeline: Timeline, facts: Fact[]) {
    this.imported = whole(timeline);
    this.facts = facts;
    this.at = timeline.seq;
    this.ended = true;
  }

  get offline(): boolean {
    return this.imported !== null;
  }

  get timeline(): Timeline | undefined {
    return this.imported || this.times?.load.value;
  }

  get head(): number {
    return Math.max(this.graph?.load.value?.head || 0, this.facts.at(-1)?.seq || 0, this.timeline?.seq || 0);
  }

  /** frame returns the graph to show: the newest one, or the one at the event to which the views are wound back. */
  get frame(): Graph | undefined {
    const t = this.timeline;
    if (this.at && t) {
      const key = `${this.at}/${t.seq}`;
      if (this.shown?.key !== key) this.shown = { key, graph: frameAt(t, this.at) };
      return this.shown.graph;
    }
    return this.graph?.load.value;
  }

  node(id: string): Node | undefined {
    const f = this.frame;
    if (!f) return undefined;
    return f.subjobs.find((n) => n.id === id) || [f.planning, f.finalizing].find((n) => n?.id === id) || f.replaced?.find((n) => n.id === id);
  }

  /** wind shows the job after an event; 0 follows the log again. */
  wind(seq: number) {
    this.at = seq;
    if (seq && (this.timeline?.seq || 0) < seq) this.wantTimes();
    this.changed();
  }

  /** wantTimes fetches the timeline up to now. Only views that show it call this, since it grows with the log. */
  wantTimes() {
    if (!this.offline) this.times?.refresh();
  }

  private take(batch: Heard[]) {
    for (const b of batch) {
      if (b.event === "gap") {
        this.restart(b.data?.text || "the log of this job has begun again");
        continue;
      }
      const fact = b.data as Fact;
      if (!fact?.seq || fact.seq <= (this.facts.at(-1)?.seq || 0)) continue; // A stream that resumed may repeat its last event.
      if (fact.kind === "job.requested" && this.facts.length) this.restart("this job was deleted and made again meanwhile; this is the new one");
      this.facts.push(fact);
      this.foresee(fact);
    }
    if (this.facts.length > mostFacts) this.dropped += this.facts.splice(0, this.facts.length - mostFacts).length;
    this.graph?.refresh();
    this.changed();
  }

  /** restart forgets a log that the server no longer has: the job was deleted and created again meanwhile. */
  private restart(why: string) {
    this.facts = [];
    this.dropped = 0;
    this.missing = why;
    this.seen.clear();
    this.live.clear();
    this.graph?.forget();
    if (this.times?.load.value) this.times.forget();
    this.told(why);
  }

  /** foresee shows what a fact means for its SubJob before the server's graph arrives, which then has the last word. */
  private foresee(f: Fact) {
    const g = this.graph?.load.value;
    if (!g || !f.subjob || f.seq <= g.seq) return;
    if (this.index.of !== g) this.index = { of: g, nodes: new Map(g.subjobs.map((n) => [n.id, n])) };
    const n = this.index.nodes.get(f.subjob);
    if (!n) return;
    if (f.kind === "subjob.started" && (f.run || 0) >= (n.run || 0)) {
      n.state = "running";
      n.run = f.run;
      n.started ||= f.time;
    } else if (f.kind === "subjob.reported" && (f.run || 0) >= (n.run || 0) && f.data?.outcome === "SUCCESS") {
      n.state = "finished"; // A quick run has no other event.
      n.run = f.run;
      n.ended = f.time;
    } else if (f.kind === "input.requested") n.state = "waiting";
    else if (f.kind === "subjob.progressed") n.progress = f.data;
  }

  /** announce says which SubJobs have changed, in few words if there are many. */
  private announce() {
    const g = this.graph?.load.value;
    if (!g) return;
    const moved: string[] = [];
    for (const n of g.subjobs) {
      const before = this.seen.get(n.id);
      if (before !== undefined && before !== n.state && ["running", "waiting", "finished", "failed", "stopped"].includes(n.state)) moved.push(`${n.title || n.id}: ${n.state}`);
      this.seen.set(n.id, n.state);
    }
    const job = this.seen.get("");
    if (job !== undefined && job !== g.status) moved.push(`job ${g.status.toLowerCase()}`);
    this.seen.set("", g.status);
    this.ended = ["FINISHED", "FAILED", "STOPPED"].includes(g.status);
    if (moved.length) this.told(moved.length > 4 ? `${moved.length} steps changed, last ${moved.at(-1)}` : moved.join(", "));
  }

  /** listen follows what runs say while someone looks at it; call the result to stop. */
  listen(): () => void {
    if (this.offline) return () => {};
    if (this.watchers++ === 0) {
      this.live.clear();
      this.saying = follow(`/jobs/${seg(this.id)}/live`, "", (batch) => {
        for (const b of batch) this.hear(b.data as Item);
        this.changed();
      });
    }
    let over = false;
    return () => {
      if (over) return;
      over = true;
      if (--this.watchers === 0) this.saying?.close();
    };
  }

  private hear(i: Item) {
    if (i?.type === "gap" && !i.subjob) for (const s of this.live.values()) s.take(i);
    if (!i?.subjob) return;
    let s = this.live.get(i.subjob);
    if (!s) this.live.set(i.subjob, (s = new Speech()));
    s.take(i);
  }

  close() {
    for (const s of this.streams) s.close();
    this.saying?.close();
    this.graph?.close();
    this.times?.close();
  }
}

/** whole adds the lists that a timeline may lack. */
function whole(t: Timeline): Timeline {
  for (const name of ["ids", "events", "layouts", "moves", "status_moves", "runs"] as const) (t as any)[name] ||= [];
  for (const l of t.layouts) {
    l.subjobs ||= [];
    l.edges ||= [];
  }
  return t;
}

/** merged combines a graph with an answer that has only the SubJobs changed since. */
function merged(have: Graph | undefined, got: Graph): Graph {
  got.subjobs ||= []; // An empty list may be absent.
  got.edges ||= [];
  if (!have || !got.partial) return got;
  const changed = new Map(got.subjobs.map((n) => [n.id, n]));
  const replaced = new Map((have.replaced || []).map((n) => [n.id, n]));
  for (const n of got.replaced || []) replaced.set(n.id, n);
  return { ...got, partial: false, subjobs: have.subjobs.map((n) => changed.get(n.id) || n), edges: have.edges, versions: have.versions, replaced: [...replaced.values()] };
}

const mostText = 64 << 10;
const mostItems = 400;

/** Speech is what one SubJob has said: its items in order, each with its present text, and the rate of tokens. */
export class Speech {
  items: Item[] = [];
  private byID = new Map<string, Item>();
  private pieces: [number, number][] = []; // When text arrived, and about how many tokens it had.

  take(i: Item) {
    if (i.type === "seam" && !i.seam?.continues) {
      this.items = [];
      this.byID.clear();
    }
    const key = `${i.run}/${i.id}`;
    const old = this.byID.get(key);
    const text = i.text || "";
    if (i.type === "text" || i.type === "thinking") this.pieces.push([Date.parse(i.at || "") || Date.now(), text.length / 4]);
    if (!old) {
      const made = { ...i, text };
      this.items.push(made);
      this.byID.set(key, made);
      if (this.items.length > mostItems) this.items.splice(0, this.items.length - mostItems);
      return;
    }
    const before = old.text || "";
    if (i.type === "gap") { // The gap is inside a text that continues after it.
      old.text = `${before}\n[${text}]\n`;
      return;
    }
    Object.assign(old, i);
    old.text = i.offset ? before + text : i.text === undefined ? before : text;
    if (old.text.length > mostText) old.text = "…" + old.text.slice(-mostText / 2);
  }

  /** rate estimates the tokens per second over the last seconds, at four characters per token. */
  rate(now = Date.now()): number {
    const since = now - 4000;
    while (this.pieces.length && this.pieces[0][0] < since) this.pieces.shift();
    return this.pieces.reduce((sum, [, n]) => sum + n, 0) / 4;
  }
}
