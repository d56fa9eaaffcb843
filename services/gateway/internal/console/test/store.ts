import { api } from "../web/core/api";
import { JobStore, Speech } from "../web/core/store";
import type { Graph, Node } from "../web/core/types";
import { gateway, json, rule, same, silence, stream, until } from "./kit";
import { job } from "./past";

const node = (id: string, state: Node["state"] = "ready"): Node => ({ id, state, run: 1, x: 0, y: 0, w: 1, h: 1 });

const graph = (seq: number, subjobs: Node[], more: Partial<Graph> = {}): Graph => ({
  job_id: "j", status: "RUNNING", seq, head: seq, time: "", created: "", plan_version: 1, width: 1, height: 1, subjobs, edges: [], ...more,
});

const event = (seq: number, kind: string, more: object = {}) => `id: ${seq}\nevent: ${kind}\ndata: ${JSON.stringify({ seq, kind, time: "t" + seq, ...more })}\n\n`;

/** opened is a store over a log that arrives in one stream per string, and graphs in their order; the last graph repeats. */
function opened(streams: string[], graphs: (Graph | object | (() => Promise<Response>))[]) {
  api.set("ok");
  const told: string[] = [];
  let drawn = 0, n = 0, g = 0;
  const asked = gateway((a) => {
    if (a.path.includes("/events")) return n < streams.length ? stream(streams[n++]) : silence();
    const next = graphs[Math.min(g++, graphs.length - 1)];
    return typeof next === "function" ? (next as () => Promise<Response>)() : json(structuredClone(next));
  });
  const store = new JobStore("j", () => drawn++, (t) => told.push(t));
  store.open();
  return { store, told, asked, close: () => store.close() };
}

rule("facts are kept once each, in order, over breaks of the stream", async () => {
  const { store, close } = opened([event(1, "a") + event(2, "b"), event(2, "b") + event(3, "c")], [graph(1, [])]);
  await until(() => store.facts.length === 3);
  same([store.facts.map((f) => f.kind), store.head], [["a", "b", "c"], 3]);
  close();
});

rule("the oldest facts of a long log are left out, and counted", async () => {
  let log = "";
  for (let i = 1; i <= 20_005; i++) log += event(i, "x");
  const { store, close } = opened([log], [graph(1, [])]);
  await until(() => store.dropped === 5);
  same([store.facts.length, store.facts[0].seq], [20_000, 6]);
  close();
});

rule("a fact is shown at once, until the graph of the server decides", async () => {
  let decide = () => {};
  const { store, asked, close } = opened([], [graph(5, [node("a"), node("b"), node("c", "running"), node("d", "running"), { ...node("e"), run: undefined }]), () => new Promise((r) => (decide = () => r(json(graph(11, [node("a", "failed")])))))]);
  await until(() => store.frame);
  const take = (seq: number, kind: string, more: object) => (store as any).take([{ id: String(seq), event: kind, data: { seq, kind, time: "t", ...more } }]);
  const now = () => store.frame!.subjobs.map((n) => `${n.id} ${n.state}`);
  take(4, "subjob.started", { subjob: "a", run: 1 }); // This is older than the graph.
  same(now(), ["a ready", "b ready", "c running", "d running", "e ready"]);
  take(6, "subjob.started", { subjob: "a", run: 2 });
  take(7, "subjob.reported", { subjob: "c", run: 1, data: { outcome: "SUCCESS" } });
  take(8, "subjob.reported", { subjob: "d", run: 0, data: { outcome: "SUCCESS" } }); // This belongs to an earlier run.
  take(9, "input.requested", { subjob: "b" });
  take(10, "subjob.reported", { subjob: "e", run: 1, data: { outcome: "SUCCESS" } }); // It was too quick for an event of its start.
  take(11, "subjob.progressed", { subjob: "a", data: { done: 1 } });
  same([now(), store.node("a")!.run, store.node("a")!.started, store.node("c")!.ended, store.node("a")!.progress], [["a running", "b waiting", "c finished", "d running", "e finished"], 2, "t", "t", { done: 1 }]);
  await until(() => asked.filter((a) => a.path.includes("/graph")).length === 2);
  decide();
  await until(() => store.frame!.seq === 11);
  same(now(), ["a failed"]);
  close();
});

rule("a partial graph changes only the steps that it has", async () => {
  const partial = { ...graph(9, [node("b", "finished")]), partial: true, replaced: [node("x")] };
  const { store, asked, close } = opened([event(8, "subjob.progressed")], [graph(5, [node("a"), node("b")], { replaced: [node("w")], versions: [] }), partial]);
  await until(() => store.frame?.seq === 9);
  same([store.frame!.subjobs.map((n) => `${n.id} ${n.state}`), store.frame!.replaced!.map((n) => n.id), store.frame!.partial], [["a ready", "b finished"], ["w", "x"], false]);
  same(asked.some((a) => a.path === "/jobs/j/graph?since=5"), true);
  close();
});

rule("a log that was made again while the page slept begins again, and says so", async () => {
  const gap = 'event: gap\ndata: {"after":9,"text":"it was made again"}\n\n';
  const { store, told, asked, close } = opened([event(8, "old") + event(9, "old"), gap + event(2, "new")], [graph(9, [node("a")]), graph(9, [node("a")]), graph(2, [node("z")])]);
  await until(() => store.frame?.subjobs[0].id === "z");
  same([store.facts.map((f) => f.kind), store.missing, told.includes("it was made again"), store.head], [["new"], "it was made again", true, 2]);
  same(asked.filter((a) => a.path === "/jobs/j/graph").length > 1, true);
  close();
});

rule("a job that is requested again under its id is another job", async () => {
  const { store, close } = opened([event(1, "job.requested") + event(2, "old") + event(8, "job.requested") + event(9, "new")], [graph(2, [node("a")]), graph(9, [node("z")])]);
  await until(() => store.frame?.subjobs[0].id === "z");
  same([store.facts.map((f) => f.seq), store.missing !== ""], [[8, 9], true]);
  close();
});

rule("moves are told in a few words, whatever their number", async () => {
  const five = "abcde".split("");
  const { store, told, close } = opened([event(6, "x")], [graph(5, five.map((id) => node(id))), graph(6, five.map((id) => node(id, id === "a" ? "ready" : "running")), { status: "RUNNING" })]);
  await until(() => told.length);
  same(told, ["b: running, c: running, d: running, e: running"]);
  close();
  const more = opened([event(6, "x")], [graph(5, five.map((id) => node(id))), graph(6, five.map((id) => node(id, "running")), { status: "FINISHED" })]);
  await until(() => more.told.length);
  same([more.told, more.store.ended], [["6 steps changed, last job finished"], true]);
  same(store.ended, false);
  more.close();
});

rule("an export is a store that asks no server", () => {
  const asked = gateway(() => json({}));
  const store = new JobStore("j", () => {}, () => {});
  store.fill(job(), [{ seq: 10, time: "", kind: "job.requested" }]);
  same([store.offline, store.frame!.status, store.head], [true, "FINISHED", 90]);
  store.wind(30);
  store.wantTimes();
  store.listen()();
  same([store.frame!.subjobs[0].state, store.node("~plan")!.state, store.node("nobody"), asked.length], ["running", "finished", undefined, 0]);
  same(store.frame === store.frame, true, "a frame is made once");
});

rule("winding back asks for the timeline once, and shows the newest graph until it is there", async () => {
  api.set("ok");
  const asked = gateway((a) => (a.path.includes("/events") ? silence() : a.path.includes("/timeline") ? json(job()) : json(graph(90, [node("new")]))));
  const store = new JobStore("j", () => {}, () => {});
  store.open();
  await until(() => store.frame);
  store.wind(30);
  await until(() => store.timeline);
  same([store.frame!.subjobs[0].state, asked.filter((a) => a.path.includes("/timeline")).length], ["running", 1]);
  store.wind(0);
  same(store.frame!.subjobs[0].id, "new");
  store.close();
});

rule("what a run says is joined by its id, and bounded", () => {
  const s = new Speech();
  s.take({ type: "text", id: "1", run: 1, text: "a" });
  s.take({ type: "text", id: "1", run: 1, text: "b", offset: 1 });
  s.take({ type: "tool", id: "2", run: 1, tool: "t" });
  s.take({ type: "tool", id: "2", run: 1, done: true, outcome: "ok" });
  s.take({ type: "text", id: "1", run: 2, text: "c" });
  same(s.items.map((i) => [i.type, i.run, i.text, i.outcome]), [["text", 1, "ab", undefined], ["tool", 1, "", "ok"], ["text", 2, "c", undefined]]);
  s.take({ type: "text", id: "1", run: 2, text: "x".repeat(70_000), offset: 1 });
  same([s.items[2].text!.length, s.items[2].text![0]], [32_769, "…"]);
  for (let i = 0; i < 500; i++) s.take({ type: "log", id: `l${i}`, run: 1, text: "" });
  same(s.items.length, 400);
});

rule("what is missing stands where it is missing, and a new runner begins again", () => {
  const s = new Speech();
  s.take({ type: "text", id: "1", run: 1, text: "a" });
  s.take({ type: "gap", id: "1", run: 1, text: "5 bytes are missing" });
  s.take({ type: "text", id: "1", run: 1, text: "b", offset: 6 });
  same(s.items.map((i) => [i.type, i.text]), [["text", "a\n[5 bytes are missing]\nb"]]);
  s.take({ type: "seam", id: "s", run: 1, seam: { continues: true } });
  same(s.items.length, 2);
  s.take({ type: "seam", id: "s", run: 1, seam: {} });
  same(s.items.map((i) => i.type), ["seam"]);
});

rule("the speed of a run is that of its last seconds", () => {
  const s = new Speech();
  const at = (second: number) => new Date(second * 1000).toISOString();
  s.take({ type: "text", id: "1", run: 1, text: "x".repeat(400), at: at(100) });
  s.take({ type: "thinking", id: "2", run: 1, text: "x".repeat(160), at: at(105) });
  s.take({ type: "log", id: "3", run: 1, text: "x".repeat(1000), at: at(105) });
  same([s.rate(106_000), s.rate(200_000)], [10, 0]);
});
