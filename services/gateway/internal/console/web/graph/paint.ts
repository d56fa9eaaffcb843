// Paints a scene on a canvas: only what is in view, with as much detail as is legible at the scale. Knows no input and keeps no state.

import { count, span } from "../core/format";
import { glyph } from "../core/status";
import type { Node } from "../core/types";
import type { Box, Link, Scene } from "./scene";

export interface Camera { x: number; y: number; k: number; } // The point of the scene at the top left, and pixels per unit.

export interface Palette { [name: string]: string; }

export interface Marks {
  selected: string; // Id of the selected box;
  current: string; // of the one that has the keyboard focus, "" for none.
  dim: ((n: Node) => boolean) | null; // True for steps that a search dims.
  now: number; // For elapsed times, in milliseconds.
}

const colours = ["bg", "surface", "border", "text", "muted", "accent", "edge", "planned", "ready", "running", "waiting", "finished", "failed", "stopped", "skipped", "replaced"];

/** paletteOf reads the colours of the theme. */
export function paletteOf(el: Element): Palette {
  const style = getComputedStyle(el);
  const p: Palette = {};
  for (const name of colours) p[name] = style.getPropertyValue(`--${name}`).trim() || "#888";
  p.font = style.fontFamily;
  return p;
}

/** paint draws what the camera sees of a scene; width and height are those of the canvas in CSS pixels. */
export function paint(c: CanvasRenderingContext2D, s: Scene, cam: Camera, width: number, height: number, p: Palette, m: Marks) {
  c.clearRect(0, 0, width, height);
  const view = { x: cam.x, y: cam.y, right: cam.x + width / cam.k, bottom: cam.y + height / cam.k };
  c.save();
  c.scale(cam.k, cam.k);
  c.translate(-cam.x, -cam.y);
  areas(c, s, cam, p);
  links(c, s, cam, view, p, m);
  const seen = s.boxes.filter((b) => b.x < view.right && b.x + b.w > view.x && b.y < view.bottom && b.y + b.h > view.y);
  const level = detail(seen[0], cam.k);
  for (const b of seen) {
    const faint = m.dim !== null && (b.node ? m.dim(b.node) : b.members!.every(m.dim));
    c.globalAlpha = faint ? 0.18 : 1;
    if (level === 0) dot(c, b, p);
    else card(c, b, cam.k, level, p, m);
  }
  c.globalAlpha = 1;
  ring(c, s.byID.get(m.selected), cam.k, p.accent, 2.5);
  if (m.current !== m.selected) ring(c, s.byID.get(m.current), cam.k, p.text, 1.5);
  c.restore();
}

/** detail says how much of a box is legible: 0 only its colour, 1 its title, 2 everything. */
function detail(b: Box | undefined, k: number): number {
  const h = (b?.h || 48) * k;
  return h < 15 ? 0 : h < 30 ? 1 : 2;
}

/** stateOfBox returns the state of a box; that of a folded group is its most urgent one. */
export function stateOfBox(b: Box): string {
  if (b.node) return b.node.state;
  const all = new Set(b.members!.map((n) => n.state));
  for (const s of ["failed", "waiting", "running", "ready", "stopped", "planned", "finished"] as const) if (all.has(s)) return s;
  return "skipped";
}

function dot(c: CanvasRenderingContext2D, b: Box, p: Palette) {
  const s = stateOfBox(b);
  c.fillStyle = p[s];
  if (s === "planned" || s === "skipped") c.globalAlpha *= 0.55;
  c.fillRect(b.x, b.y, b.w, b.h);
}

function card(c: CanvasRenderingContext2D, b: Box, k: number, level: number, p: Palette, m: Marks) {
  const s = stateOfBox(b);
  const ghost = s === "planned" || s === "skipped" || s === "replaced";
  const r = Math.min(7, b.h / 5);
  if (b.members) { // It is drawn as a stack of cards.
    c.fillStyle = p.surface;
    c.strokeStyle = p.border;
    c.lineWidth = 1 / k;
    box(c, b.x + 4, b.y + 4, b.w, b.h, r);
  }
  c.fillStyle = ghost ? p.bg : p.surface;
  c.strokeStyle = ghost ? p.planned : s === "running" || s === "failed" || s === "waiting" ? p[s] : p.border;
  c.lineWidth = Math.max(1, 1 / k);
  c.setLineDash(ghost ? [5, 4] : []);
  box(c, b.x, b.y, b.w, b.h, r);
  c.setLineDash([]);
  c.save();
  c.beginPath();
  c.roundRect(b.x, b.y, b.w, b.h, r);
  c.clip();
  c.fillStyle = p[s];
  if (!ghost) c.fillRect(b.x, b.y, 5, b.h);
  const done = b.node?.progress?.total ? Math.min(1, (b.node.progress.done || 0) / b.node.progress.total) : 0;
  if (s === "running" && done > 0) c.fillRect(b.x, b.y + b.h - 3, b.w * done, 3);
  words(c, b, s, level, p, m);
  c.restore();
}

function box(c: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, r: number) {
  c.beginPath();
  c.roundRect(x, y, w, h, r);
  c.fill();
  c.stroke();
}

function words(c: CanvasRenderingContext2D, b: Box, s: string, level: number, p: Palette, m: Marks) {
  const ghost = s === "planned" || s === "skipped" || s === "replaced";
  const title = level === 1 ? Math.min(17, b.h * 0.36) : 13;
  const second = level === 2 && b.h >= 40;
  const middle = b.y + b.h / 2;
  c.textBaseline = "middle";
  c.font = `600 13px ${p.font}`;
  c.fillStyle = p[s];
  c.fillText(glyph[s] || "·", b.x + 13, second ? middle - 9 : middle);
  c.font = `${level === 1 ? 500 : 550} ${title}px ${p.font}`;
  c.fillStyle = ghost ? p.muted : p.text;
  const badge = b.node?.version && b.node.version > 1 && level === 2 ? `v${b.node.version}` : "";
  c.fillText(fit(c, b.label, b.w - 40 - (badge ? 24 : 0)), b.x + 30, second ? middle - 9 : middle);
  if (badge) {
    c.font = `10px ${p.font}`;
    c.fillStyle = p.muted;
    c.textAlign = "right";
    c.fillText(badge, b.x + b.w - 8, middle - 9);
    c.textAlign = "left";
  }
  if (!second) return;
  c.font = `11.5px ${p.font}`;
  c.fillStyle = s === "failed" || s === "waiting" ? p[s] : p.muted;
  c.fillText(fit(c, under(b, m), b.w - 40), b.x + 30, middle + 10);
}

/** under returns the second line of a box: what matters most in its state. */
function under(b: Box, m: Marks): string {
  if (b.members) {
    const done = b.members.filter((n) => n.state === "finished" || n.state === "skipped").length;
    return `${done} of ${b.members.length} steps done`;
  }
  return lineOf(b.node!, m.now);
}

/** lineOf describes the state of a SubJob in one line. */
export function lineOf(n: Node, now: number): string {
  const expert = n.expert || "";
  const retry = n.attempt && n.attempt > 1 ? ` · attempt ${n.attempt}${n.attempts ? ` of ${n.attempts}` : ""}` : "";
  switch (n.state) {
    case "running": {
      const parts = [expert];
      if (n.started) parts.push(span(now - Date.parse(n.started)));
      if (n.rate) parts.push(`${count(Math.round(n.rate))} tok/s`);
      if (n.progress?.total) parts.push(`${n.progress.done || 0}/${n.progress.total}`);
      return parts.filter(Boolean).join(" · ") + retry;
    }
    case "waiting":
      if (n.wait_until) return `waits ${span(Date.parse(n.wait_until) - now)}`;
      return n.request ? `waits for ${n.asked || "an answer"}` : "waits";
    case "failed":
      return n.reason || "failed";
    case "stopped":
    case "skipped":
      return n.reason || n.state;
    case "finished": {
      const took = n.started && n.ended ? span(Date.parse(n.ended) - Date.parse(n.started)) : "";
      return [expert, took, n.tokens ? `${count(n.tokens)} tok` : ""].filter(Boolean).join(" · ");
    }
    case "ready":
      return [expert, "queued"].filter(Boolean).join(" · ") + retry;
  }
  return expert;
}

const widths = new Map<string, string>();

/** fit cuts a text to a width; results are cached, since measuring is expensive. */
function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${c.font}|${width | 0}|${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let out = text.length > 160 ? text.slice(0, 160) : text;
  if (c.measureText(out).width > width) {
    let low = 0, high = out.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (c.measureText(out.slice(0, mid) + "…").width <= width) low = mid;
      else high = mid - 1;
    }
    out = out.slice(0, low) + "…";
  }
  if (widths.size > 40_000) widths.clear();
  widths.set(key, out);
  return out;
}

function areas(c: CanvasRenderingContext2D, s: Scene, cam: Camera, p: Palette) {
  c.lineWidth = 1 / cam.k;
  for (const a of s.areas) {
    c.strokeStyle = p.border;
    c.setLineDash([3 / cam.k, 3 / cam.k]);
    c.beginPath();
    c.roundRect(a.x, a.y, a.w, a.h, 10);
    c.stroke();
    c.setLineDash([]);
    if (cam.k < 0.35) continue;
    c.font = `11px ${p.font}`;
    c.fillStyle = p.muted;
    c.textBaseline = "bottom";
    c.fillText(fit(c, a.name, a.w - 8), a.x + 6, a.y - 2);
  }
}

interface View { x: number; y: number; right: number; bottom: number; }

function links(c: CanvasRenderingContext2D, s: Scene, cam: Camera, view: View, p: Palette, m: Marks) {
  const plain = new Path2D(), ghost = new Path2D(), near = new Path2D();
  const simple = cam.k < 0.3;
  const selected = s.byID.get(m.selected);
  for (const l of s.links) {
    if (outside(l, view)) continue;
    const path = selected && (l.from === selected || l.to === selected) ? near : l.ghost ? ghost : plain;
    trace(path, l, simple);
  }
  c.lineWidth = Math.max(1.2, 0.7 / cam.k);
  c.strokeStyle = p.edge;
  c.globalAlpha = m.dim ? 0.4 : simple ? 0.7 : 1;
  c.stroke(plain);
  c.setLineDash(simple ? [] : [4, 4]);
  c.stroke(ghost);
  c.setLineDash([]);
  c.globalAlpha = 1;
  c.strokeStyle = p.accent;
  c.lineWidth = Math.max(2, 1.2 / cam.k);
  c.stroke(near);
}

function outside(l: Link, v: View): boolean {
  let x = Math.min(l.from.x, l.to.x), right = Math.max(l.from.x + l.from.w, l.to.x + l.to.w);
  const y = Math.min(l.from.y, l.to.y), bottom = Math.max(l.from.y + l.from.h, l.to.y + l.to.h);
  for (let i = 0; i < l.bends.length; i += 2) {
    x = Math.min(x, l.bends[i]);
    right = Math.max(right, l.bends[i]);
  }
  return right < v.x || x > v.right || bottom < v.y || y > v.bottom;
}

function trace(path: Path2D, l: Link, simple: boolean) {
  const down = l.to.y >= l.from.y + l.from.h - 1;
  let x = down ? l.from.x + l.from.w / 2 : l.from.x + l.from.w, y = down ? l.from.y + l.from.h : l.from.y + l.from.h / 2;
  const endX = down ? l.to.x + l.to.w / 2 : l.to.x, endY = down ? l.to.y : l.to.y + l.to.h / 2;
  path.moveTo(x, y);
  const points = [...l.bends, endX, endY];
  for (let i = 0; i < points.length; i += 2) {
    const tx = points[i], ty = points[i + 1];
    if (simple) path.lineTo(tx, ty);
    else if (down) path.bezierCurveTo(x, y + (ty - y) / 2, tx, y + (ty - y) / 2, tx, ty);
    else path.bezierCurveTo(x + (tx - x) / 2, y, x + (tx - x) / 2, ty, tx, ty);
    x = tx;
    y = ty;
  }
}

function ring(c: CanvasRenderingContext2D, b: Box | undefined, k: number, colour: string, width: number) {
  if (!b) return;
  const gap = 3 / k;
  c.strokeStyle = colour;
  c.lineWidth = width / k;
  c.beginPath();
  c.roundRect(b.x - gap, b.y - gap, b.w + 2 * gap, b.h + 2 * gap, 8);
  c.stroke();
}
