// The look and the name of each state: a colour (a CSS variable) and a glyph, so that no state depends on colour alone.

import { h, VNode } from "./dom";
import type { State } from "./types";

export const glyph: Record<string, string> = {
  planned: "○", ready: "◔", running: "▶", waiting: "?", finished: "✓", failed: "✕", stopped: "■", skipped: "⤼", replaced: "↺", planning: "✎", finalizing: "✎", created: "○",
};

const ofStatus: Record<string, State | "planning" | "finalizing" | "created"> = {
  CREATED: "created", PLANNING: "planning", READY: "ready", RUNNING: "running", WAITING: "waiting", FINALIZING: "finalizing", FINISHED: "finished", FAILED: "failed",
  STOPPED: "stopped", LEGACY: "replaced",
};

/** stateOf returns the state that shows a status from the API. */
export function stateOf(status: string): string {
  return ofStatus[status] || status.toLowerCase();
}

/** isOver reports whether a job with this status has ended. */
export function isOver(status: string): boolean {
  return status === "FINISHED" || status === "FAILED" || status === "STOPPED";
}

/** chip shows a status as glyph and word. */
export function chip(status: string, more?: string): VNode {
  const s = stateOf(status);
  return h("span", { class: `chip s-${s}` }, h("span", { class: "glyph", "aria-hidden": "true" }, glyph[s] || "·"), s, more ? h("span", { class: "chip-more" }, more) : null);
}

/** order is the order of states in counts and legends. */
export const order: State[] = ["failed", "waiting", "running", "ready", "planned", "finished", "stopped", "skipped", "replaced"];

/** bar shows how many SubJobs have each state. */
export function bar(counts: Record<string, number> | undefined): VNode {
  const shown = ["finished", "running", "waiting", "failed", "stopped", "ready", "planned", "skipped"].filter((s) => counts?.[s]);
  const total = shown.reduce((sum, s) => sum + counts![s], 0);
  const text = shown.map((s) => `${counts![s]} ${s}`).join(", ");
  return h("span", { class: "bar", role: "img", "aria-label": text || "no steps", title: text }, shown.map((s) => h("span", { key: s, class: `bar-part s-${s}`, style: { "flex-grow": String(counts![s] / total) } })));
}
