// The icons of the navigation, as strokes on a grid of 16 by 16.

import { h, VNode } from "./dom";

const strokes: Record<string, string> = {
  jobs: "M6 1.8h4v3.4H6zM1.8 10.8h4v3.4h-4zM10.2 10.8h4v3.4h-4zM8 5.2v2.8M3.8 10.8V8h8.4v2.8",
  inbox: "M2 9.5 4 3h8l2 6.5v3.7H2zM2 9.5h3.6l.9 1.8h3l.9-1.8H14",
  sessions: "M2 3h12v8H7l-3 2.6V11H2z",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.8V8l2.4 1.5",
  experts: "M8 7.2a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2zM2.8 14c.3-2.9 2.3-4.6 5.2-4.6s4.9 1.7 5.2 4.6z",
  letters: "M8 2.2 14.4 13.4H1.6zM8 6.4v3.4M8 11.4v.6",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
};

/** icon is a sign beside a word, so it needs no label. */
export function icon(name: string): VNode {
  return h("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, h("path", { d: strokes[name] || "" }));
}
