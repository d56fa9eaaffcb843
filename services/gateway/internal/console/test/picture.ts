import type { Graph, Node, State } from "../web/core/types";
import { lineOf, stateOfBox } from "../web/graph/paint";
import { hit, nearest, sceneOf } from "../web/graph/scene";
import { rule, same } from "./kit";

const node = (id: string, x: number, y: number, group?: string, state: State = "planned"): Node => ({ id, state, x, y, w: 100, h: 40, group });

const graph = (): Graph => ({
  job_id: "j", status: "RUNNING", seq: 1, time: "", head: 1, created: "", plan_version: 1, width: 500, height: 300,
  subjobs: [node("a", 0, 0), node("b", 0, 100, "g"), node("c", 200, 100, "g", "running"), node("d", 400, 0, undefined, "finished"), node("e", 0, 200)], edges: [[0, 1], [0, 2, 7, 7], [1, 4], [2, 4], [3, 0], [0, 99]],
});

rule("a scene has a box for each step and a link for each edge that it has", () => {
  const s = sceneOf(graph(), new Set());
  same(s.boxes.map((b) => b.id), ["a", "b", "c", "d", "e"]);
  same(s.links.map((l) => [l.from.id, l.to.id, l.bends.length, l.ghost]), [["a", "b", 0, true], ["a", "c", 2, false], ["b", "e", 0, true], ["c", "e", 0, true], ["d", "a", 0, true]]);
  same(s.areas.map((a) => [a.name, a.x, a.y, a.w, a.h]), [["g", -14, 86, 328, 68]]);
  same([s.x, s.y, s.width, s.height], [-14, 0, 514, 240]);
});

rule("a folded group is one box with one link to each neighbour", () => {
  const s = sceneOf(graph(), new Set(["g"]));
  same(s.boxes.map((b) => b.id), ["group:g", "a", "d", "e"]);
  same(s.links.map((l) => `${l.from.id} ${l.to.id}`), ["a group:g", "group:g e", "d a"]);
  same([s.byID.get("b")!.id, s.boxes[0].members!.length, stateOfBox(s.boxes[0])], ["group:g", 2, "running"]);
  same(s.boxes[0].x + s.boxes[0].w / 2, 66); // Centred between its neighbours, within its area.
});

rule("arrows lead to the box that is nearest in their direction", () => {
  const s = sceneOf(graph(), new Set());
  const to = (id: string, dx: number, dy: number) => nearest(s, s.byID.get(id)!, dx, dy)?.id;
  same([to("a", 0, 1), to("b", 1, 0), to("c", 0, -1), to("e", 0, -1), to("a", -1, 0), to("a", 1, 0)], ["b", "c", "a", "b", undefined, "d"]);
});

rule("a point hits the box that is there", () => {
  const s = sceneOf(graph(), new Set());
  same([hit(s, 50, 20)?.id, hit(s, 250, 120)?.id, hit(s, 150, 20)], ["a", "c", null]);
});

rule("a step says in a line what matters most in its state", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  const line = (more: Partial<Node>) => lineOf({ ...node("a", 0, 0), expert: "e", ...more }, now);
  same([
    line({ state: "planned" }), line({ state: "ready", attempt: 2, attempts: 3 }), line({ state: "running", started: "2026-01-01T00:00:00Z", rate: 12.4, progress: { done: 1, total: 4 } }),
    line({ state: "waiting", request: "r" }), line({ state: "waiting", request: "r", asked: "ann" }), line({ state: "waiting", wait_until: "2026-01-01T00:02:00Z" }), line({ state: "waiting" }),
    line({ state: "failed", reason: "boom" }), line({ state: "failed" }), line({ state: "skipped" }), line({ state: "finished", started: "2026-01-01T00:00:00Z", ended: "2026-01-01T00:00:02Z", tokens: 12 }),
  ], ["e", "e · queued · attempt 2 of 3", "e · 1 m 00 s · 12 tok/s · 1/4", "waits for an answer", "waits for ann", "waits 1 m 00 s", "waits", "boom", "failed", "skipped", "e · 2.0 s · 12 tok"]);
});

rule("a group has the most urgent state of its steps", () => {
  const of = (...states: State[]) => stateOfBox({ id: "", x: 0, y: 0, w: 0, h: 0, label: "", members: states.map((s) => node("x", 0, 0, "g", s)) });
  same([of("finished", "failed", "running"), of("running", "waiting"), of("finished", "planned"), of("finished"), of("skipped")], ["failed", "waiting", "planned", "finished", "skipped"]);
});
