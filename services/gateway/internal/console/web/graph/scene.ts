// What is drawn of a graph: boxes and links, with folded groups in place of their SubJobs. Pure.

import type { Edge, Graph, Node } from "../core/types";

export interface Box {
  id: string; x: number; y: number; w: number; h: number;
  node?: Node; // Set for a SubJob,
  members?: Node[]; // or for a folded group.
  label: string;
}

export interface Link { from: Box; to: Box; bends: number[]; ghost: boolean; }

export interface Area { name: string; x: number; y: number; w: number; h: number; }

export interface Scene { boxes: Box[]; links: Link[]; areas: Area[]; byID: Map<string, Box>; x: number; y: number; width: number; height: number; }

/** sceneOf lays boxes and links out; folded names the groups that are drawn as one box. */
export function sceneOf(g: Graph, folded: Set<string>): Scene {
  const groups = new Map<string, Node[]>();
  for (const n of g.subjobs) if (n.group) (groups.get(n.group) || groups.set(n.group, []).get(n.group)!).push(n);
  const boxes: Box[] = [];
  const byID = new Map<string, Box>();
  const areas: Area[] = [];
  const middles = folded.size ? middlesOf(g, folded) : new Map<string, number>();
  for (const [name, members] of groups) {
    const area = around(name, members);
    if (!folded.has(name)) {
      areas.push(area);
      continue;
    }
    const first = members[0];
    const w = Math.max(first.w, 160), h = Math.max(first.h, 48);
    const box: Box = { id: `group:${name}`, x: between(middles.get(name) ?? area.x + area.w / 2, area.x + w / 2, area.x + area.w - w / 2) - w / 2, y: area.y + (area.h - h) / 2, w, h, members, label: name };
    boxes.push(box);
    byID.set(box.id, box);
    for (const m of members) byID.set(m.id, box);
  }
  for (const n of g.subjobs) {
    if (byID.has(n.id)) continue;
    const box: Box = { id: n.id, x: n.x, y: n.y, w: n.w, h: n.h, node: n, label: n.title || n.id };
    boxes.push(box);
    byID.set(n.id, box);
  }
  return { boxes, links: linksOf(g, byID), areas, byID, ...extent([...boxes, ...areas]) };
}

/** middlesOf returns where folded groups stand: in the middle of what they are linked to. */
function middlesOf(g: Graph, folded: Set<string>): Map<string, number> {
  const sums = new Map<string, [number, number]>();
  const note = (name: string | undefined, other: Node) => {
    if (!name || !folded.has(name) || other.group === name) return;
    const s = sums.get(name) || sums.set(name, [0, 0]).get(name)!;
    s[0] += other.x + other.w / 2;
    s[1]++;
  };
  for (const e of g.edges) {
    const a = g.subjobs[e[0]], b = g.subjobs[e[1]];
    if (!a || !b) continue;
    note(a.group, b);
    note(b.group, a);
  }
  return new Map([...sums].map(([name, [sum, n]]) => [name, sum / n]));
}

function between(x: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, x));
}

/** extent returns the area of a scene, which is smaller than its layout if groups are folded. */
function extent(list: { x: number; y: number; w: number; h: number }[]): { x: number; y: number; width: number; height: number } {
  let x = Infinity, y = Infinity, right = -Infinity, bottom = -Infinity;
  for (const b of list) {
    x = Math.min(x, b.x);
    y = Math.min(y, b.y);
    right = Math.max(right, b.x + b.w);
    bottom = Math.max(bottom, b.y + b.h);
  }
  return list.length ? { x, y, width: Math.max(right - x, 1), height: Math.max(bottom - y, 1) } : { x: 0, y: 0, width: 1, height: 1 };
}

function linksOf(g: Graph, byID: Map<string, Box>): Link[] {
  const links: Link[] = [];
  const drawn = new Set<string>();
  for (const e of g.edges as Edge[]) {
    const a = g.subjobs[e[0]], b = g.subjobs[e[1]];
    if (!a || !b) continue;
    const from = byID.get(a.id)!, to = byID.get(b.id)!;
    if (from === to) continue;
    const grouped = !!from.members || !!to.members;
    if (grouped) {
      const key = `${from.id}→${to.id}`;
      if (drawn.has(key)) continue;
      drawn.add(key);
    }
    links.push({ from, to, bends: grouped ? [] : e.slice(2), ghost: b.state === "planned" || b.state === "skipped" });
  }
  return links;
}

const margin = 14;

function around(name: string, members: Node[]): Area {
  const e = extent(members);
  return { name, x: e.x - margin, y: e.y - margin, w: e.width + 2 * margin, h: e.height + 2 * margin };
}

/** nearest returns the next box in a direction: dx and dy are -1, 0 or 1. */
export function nearest(scene: Scene, from: Box, dx: number, dy: number): Box | null {
  const cx = from.x + from.w / 2, cy = from.y + from.h / 2;
  let best: Box | null = null, least = Infinity;
  for (const b of scene.boxes) {
    if (b === from) continue;
    const x = b.x + b.w / 2 - cx, y = b.y + b.h / 2 - cy;
    const along = dx ? x * dx : y * dy;
    const across = Math.abs(dx ? y : x);
    if (along < 1) continue;
    const far = along + 2.5 * across;
    if (far < least) {
      least = far;
      best = b;
    }
  }
  return best;
}

/** hit returns the box at a point of the scene. */
export function hit(scene: Scene, x: number, y: number): Box | null {
  for (let i = scene.boxes.length - 1; i >= 0; i--) {
    const b = scene.boxes[i];
    if (x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h) return b;
  }
  return null;
}
