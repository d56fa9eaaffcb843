import { countOf, frameAt, indexAt, msAt } from "../web/core/frame";
import type { Node, Timeline } from "../web/core/types";
import { readExport } from "../web/views/exported";
import { rule, same } from "./kit";

const node = (id: string): Node => ({ id, state: "planned", x: 0, y: 0, w: 1, h: 1 });

/** job is a job whose plan is replaced once: a runs twice, b is replaced by c. */
export const job = (): Timeline => ({
  job_id: "j", status: "FINISHED", seq: 90, time: "", created: "2026-01-01T00:00:00.000Z", goal: "g", title: "t",
  ids: ["~plan", "a", "b", "c", "~final"],
  events: [[10, 0, "job.requested"], [20, 5, "graph.created"], [30, 10, "subjob.started"], [40, 20, "subjob.reported"], [50, 30, "graph.replaced"], [60, 40, "subjob.started"], [70, 60, "subjob.reported"], [80, 70, "job.advanced"], [90, 80, "job.finished"]],
  layouts: [
    { seq: 20, plan_version: 1, width: 10, height: 20, subjobs: [node("a"), node("b")], edges: [[0, 1]] },
    { seq: 50, plan_version: 2, width: 30, height: 40, subjobs: [node("a"), node("c")], edges: [[0, 1, 5, 5]] },
  ],
  moves: [[20, 0, "finished", 1], [20, 1, "ready", 1], [30, 1, "running", 1], [40, 1, "failed", 1], [50, 1, "ready", 2], [60, 1, "running", 2], [70, 1, "finished", 2], [80, 4, "running", 1]],
  status_moves: [[10, "PLANNING"], [20, "RUNNING"], [90, "FINISHED"]],
  runs: [
    { subjob: "a", run: 1, queued: 5, started: 10, ended: 20, owner: "w1", tokens: 3, cost_usd: 0.5 }, { subjob: "a", run: 2, queued: 30, started: 40, ended: 60, owner: "w2", tokens: 4 },
    { subjob: "~final", run: 1, started: 70, ended: 79, tokens: 10 },
  ],
});

const shown = (seq: number) => {
  const f = frameAt(job(), seq);
  return { status: f.status, plan: f.plan_version, states: f.subjobs.map((n) => `${n.id} ${n.state} ${n.run ?? "-"}`), replaced: f.replaced!.map((n) => `${n.id} ${n.state}`), tokens: f.cost!.tokens, counts: f.counts };
};

rule("a job is shown as it was after each event", () => {
  same(shown(10), { status: "PLANNING", plan: 0, states: [], replaced: [], tokens: 0, counts: {} });
  same(shown(20), { status: "RUNNING", plan: 1, states: ["a ready 1", "b planned -"], replaced: [], tokens: 0, counts: { ready: 1, planned: 1 } });
  same(shown(45), { status: "RUNNING", plan: 1, states: ["a failed 1", "b planned -"], replaced: [], tokens: 3, counts: { failed: 1, planned: 1 } });
  same(shown(50), { status: "RUNNING", plan: 2, states: ["a ready 2", "c planned -"], replaced: ["b replaced"], tokens: 3, counts: { ready: 1, planned: 1 } });
  same(shown(90), { status: "FINISHED", plan: 2, states: ["a finished 2", "c planned -"], replaced: ["b replaced"], tokens: 17, counts: { finished: 1, planned: 1 } });
});

rule("times, owners and costs of a run are those known then", () => {
  const at = (seq: number) => (({ started, ended, owner, tokens, cost_usd, dependencies }) => ({ started, ended, owner, tokens, cost_usd, dependencies }))(frameAt(job(), seq).subjobs[0]);
  same(at(30), { started: "2026-01-01T00:00:00.010Z", owner: "w1" });
  same(at(40), { started: "2026-01-01T00:00:00.010Z", ended: "2026-01-01T00:00:00.020Z", owner: "w1", tokens: 3, cost_usd: 0.5 });
  same(at(60), { started: "2026-01-01T00:00:00.040Z", owner: "w2", tokens: 3, cost_usd: 0.5 });
  same(frameAt(job(), 60).subjobs[1].dependencies, ["a"]);
});

rule("a frame has the moment, the end and the versions so far", () => {
  const f = frameAt(job(), 50), end = frameAt(job(), 90);
  same([f.time, f.ended, f.head, f.versions!.map((v) => [v.plan_version, v.seq, v.total]), f.planning?.state, f.finalizing, f.width], ["2026-01-01T00:00:00.030Z", undefined, 90, [[1, 20, 2], [2, 50, 2]], "finished", undefined, 30]);
  same([end.ended, end.finalizing?.state], ["2026-01-01T00:00:00.080Z", "running"]);
});

rule("an event is found by bisection, also between two and outside", () => {
  const t = job();
  same([0, 10, 15, 20, 89, 90, 999].map((s) => indexAt(t, s)), [0, 0, 0, 1, 7, 8, 8]);
  same([msAt(t, 15), msAt(t, 90), msAt({ ...t, events: [] }, 5)], [0, 80, 0]);
  same(countOf([node("a"), { ...node("b"), state: "failed" }, node("c")]), { planned: 2, failed: 1 });
});

const lines = (...l: unknown[]) => new Blob([l.map((x) => (typeof x === "string" ? x : JSON.stringify(x))).join("\n")]);
const first = { format: "jobgraph.export/1", timeline: job() };
const record = (subject: string, seq: number, body: unknown, type = "") => ({ subject, seq, time: "t", body, headers: type ? { "ce-type": type } : {} });

rule("an export is read line by line, packed or not", async () => {
  const file = lines(first, record("jobs.event.7.j.subjob.reported.a.2", 5, '{"outcome":"SUCCESS"}'), record("jobs.event.7.j.input.closed.r", 6, { action: "answered" }, "io.jobgraph.input.closed.v1"), record("jobs.journal.x", 7, 1), "");
  const want = [{ seq: 5, time: "t", kind: "subjob.reported", subjob: "a", run: 2, data: { outcome: "SUCCESS" } }, { seq: 6, time: "t", kind: "input.closed", data: { action: "answered" } }];
  const packed = await new Response(file.stream().pipeThrough(new CompressionStream("gzip") as any)).blob();
  for (const f of [file, packed]) {
    const got = await readExport(f);
    same(got.facts, want);
    same(got.timeline.job_id, "j");
  }
});

rule("a file that is no export says what is wrong", async () => {
  const why = async (b: Blob) => readExport(b).then(() => "read", (e) => e.message);
  same([await why(lines("")), await why(lines("{}")), await why(lines("no")), await why(lines({ format: "jobgraph.export/1" })), await why(lines(first, "{broken"))],
    ["the file is empty", "this is no export of a job", "line 1 is not JSON: the file is damaged or no export", "this export has no timeline", "line 2 is not JSON: the file is damaged or no export"]);
});
