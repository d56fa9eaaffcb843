// What a job looked like at an event: a pure function of its timeline. The server sends the timeline of a job that it knows, and an
// export carries its own, so both are wound back by the same code.

import type { Graph, Node, State, Timeline } from "./types";

/** frameAt returns the graph of a job after the event seq. */
export function frameAt(t: Timeline, seq: number): Graph {
  const layout = [...t.layouts].reverse().find((l) => l.seq <= seq);
  const state = new Map<string, { state: State; run: number }>();
  for (const [at, id, s, run] of t.moves) {
    if (at > seq) break;
    state.set(t.ids[id], { state: s, run });
  }
  let status = "CREATED";
  for (const [at, s] of t.status_moves) {
    if (at > seq) break;
    status = s;
  }
  const origin = Date.parse(t.created);
  const now = origin + msAt(t, seq);
  const subjobs = (layout?.subjobs || []).map((n): Node => ({ ...n, state: state.get(n.id)?.state || "planned", run: state.get(n.id)?.run }));
  const at = new Map(subjobs.map((n, i) => [n.id, i]));
  const cost = { tokens: 0, cost_usd: 0 };
  const iso = (ms: number | undefined) => (ms !== undefined && origin + ms <= now ? new Date(origin + ms).toISOString() : undefined);
  for (const r of t.runs) {
    const i = at.get(r.subjob);
    const n = i === undefined ? undefined : subjobs[i];
    if (n && n.run === r.run) {
      n.started = iso(r.started);
      n.ended = iso(r.ended);
      n.owner = r.owner;
    }
    if (r.ended !== undefined && origin + r.ended <= now) {
      cost.tokens += r.tokens || 0;
      cost.cost_usd += r.cost_usd || 0;
      if (n) {
        n.tokens = (n.tokens || 0) + (r.tokens || 0);
        n.cost_usd = (n.cost_usd || 0) + (r.cost_usd || 0);
      }
    }
  }
  for (const e of layout?.edges || []) {
    const [from, to] = e;
    const target = subjobs[to];
    if (target && subjobs[from]) (target.dependencies ||= []).push(subjobs[from].id);
  }
  return {
    job_id: t.job_id, status, title: t.title, goal: t.goal, seq, head: t.seq, time: new Date(now).toISOString(), created: t.created,
    ended: ["FINISHED", "FAILED", "STOPPED"].includes(status) ? new Date(now).toISOString() : undefined,
    plan_version: layout?.plan_version || 0, width: layout?.width || 0, height: layout?.height || 0, subjobs, edges: layout?.edges || [],
    planning: aside("~plan", state), finalizing: aside("~final", state), replaced: gone(t, seq, at, state), counts: countOf(subjobs), cost,
    versions: t.layouts.filter((l) => l.seq <= seq).map((l) => ({ plan_version: l.plan_version, seq: l.seq, time: new Date(origin + msAt(t, l.seq)).toISOString(), total: l.subjobs.length })),
  };
}

function aside(id: string, state: Map<string, { state: State; run: number }>): Node | undefined {
  const s = state.get(id);
  return s && { id, state: s.state, run: s.run, x: 0, y: 0, w: 0, h: 0 };
}

/** gone returns the SubJobs of earlier plan versions that the present one lacks. */
function gone(t: Timeline, seq: number, present: Map<string, number>, state: Map<string, { state: State; run: number }>): Node[] {
  const list = new Map<string, Node>();
  for (const l of t.layouts) {
    if (l.seq > seq) break;
    for (const n of l.subjobs) if (!present.has(n.id)) list.set(n.id, { ...n, state: "replaced", run: state.get(n.id)?.run });
  }
  return [...list.values()];
}

/** countOf counts SubJobs by state. */
export function countOf(list: Node[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const n of list) counts[n.state] = (counts[n.state] || 0) + 1;
  return counts;
}

/** msAt returns when an event was stored, in milliseconds since the job was created. */
export function msAt(t: Timeline, seq: number): number {
  return t.events[indexAt(t, seq)]?.[1] || 0;
}

/** indexAt returns the position of the last event up to seq, by bisection. */
export function indexAt(t: Timeline, seq: number): number {
  let low = 0, high = t.events.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (t.events[mid][0] <= seq) low = mid;
    else high = mid - 1;
  }
  return low;
}
