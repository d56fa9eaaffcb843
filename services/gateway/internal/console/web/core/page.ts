// What a page is, and what all pages share: the address, notices, announcements for screen readers.

import { Child, frame, h, VNode } from "./dom";
import type { Fault } from "./types";

/** Page is what is shown for an address. view is pure: it describes the page in its present state. */
export interface Page {
  title: string;
  view(): Child;
  /** moved receives a new query for the same page; without it, or if it returns false, the page is made again. */
  moved?(query: URLSearchParams): void;
  /** key handles a key that no field has used; true if it did something. */
  key?(e: KeyboardEvent): boolean;
  close(): void;
}

let redraw = () => {};

/** onRedraw sets the function that draws the page. */
export function onRedraw(f: () => void) {
  redraw = f;
}

/** changed asks for the page to be drawn again. */
export function changed() {
  frame(redraw);
}

const pace = 150; // Milliseconds between two changes of the browser's address: browsers refuse too many within a short time.
let next: string | null = null; // The address that the page shows and the browser does not have yet,
let from = ""; // unless it has left this one meanwhile.
let pacing = 0;

/** address returns the address of what is shown, such as "/jobs/a?step=b". */
export function address(): string {
  return next !== null && location.hash === from ? next : location.hash.slice(1);
}

/** go opens an address of the console. */
export function go(to: string, replace = false) {
  if (!replace) {
    settle();
    location.hash = to;
    return;
  }
  from = location.hash;
  next = to;
  dispatchEvent(new HashChangeEvent("hashchange"));
  if (!pacing) settle();
}

/** settle sets the browser's address to the one that is shown. */
function settle() {
  clearTimeout(pacing);
  pacing = 0;
  if (next !== null && location.hash === from) {
    pacing = window.setTimeout(settle, pace);
    history.replaceState(null, "", "#" + next);
  }
  next = null;
}

/** query changes the query of the present address; null removes a value. */
export function query(values: Record<string, string | null>, replace = false) {
  const [path, text] = address().split("?");
  const q = new URLSearchParams(text || "");
  for (const k in values) {
    if (values[k] === null) q.delete(k);
    else q.set(k, values[k]!);
  }
  const rest = q.toString();
  go(path + (rest ? "?" + rest : ""), replace);
}

/** say makes a screen reader speak a text. */
export function say(text: string) {
  const el = document.getElementById("said");
  if (el) el.textContent = text;
}

export interface Notice { id: number; text: string; kind: "good" | "bad"; hint?: string; link?: { to: string; text: string }; }

export const notices: Notice[] = [];
let count = 1;

/** notify shows a notice for a while; one about a fault stays until it is closed. */
export function notify(text: string, kind: "good" | "bad" = "good", more: Partial<Notice> = {}) {
  const n = { id: count++, text, kind, ...more };
  notices.push(n);
  if (notices.length > 4) notices.shift();
  say(text);
  changed();
  if (kind === "good") setTimeout(() => dismiss(n.id), 4500);
}

export function dismiss(id: number) {
  const at = notices.findIndex((n) => n.id === id);
  if (at >= 0) notices.splice(at, 1);
  changed();
}

/** faultView shows a fault: what, where, what to do next. */
export function faultView(f: Fault, again?: () => void): VNode {
  return h("div", { class: "fault", role: "alert" },
    h("strong", null, f.field ? `${f.field}: ` : "", f.message),
    f.cause ? h("div", { class: "muted" }, f.cause) : null,
    f.hint ? h("div", { class: "hint" }, f.hint) : null,
    again ? h("button", { class: "small", onclick: again }, "Try again") : null);
}

/** empty says that there is nothing, and what would change that. */
export function empty(title: string, ...more: Child[]): VNode {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), more);
}

/** copyable is a command that a click copies. */
export function copyable(text: string, label: string): VNode {
  return h("div", { class: "copyable" }, h("span", { class: "copy-label" }, label), h("code", { tabindex: "0" }, text),
    h("button", { class: "small", "aria-label": `Copy ${label} command`, onclick: () => copy(text) }, "Copy"));
}

export async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    notify("copied");
  } catch {
    notify("the browser does not allow copying here: select the text", "bad");
  }
}

/** link is an anchor to an address of the console. */
export function link(to: string, props: Record<string, any> | null, ...kids: Child[]): VNode {
  return h("a", { href: "#" + to, ...props }, ...kids);
}

/** tabBar shows the views of a page, one of which the address selects; the arrow keys move between them. more is added to the name of a tab. */
export function tabBar(tabs: string[], current: string, label: string, more: (tab: string) => Child = () => null): VNode {
  const move = (e: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    const at = (e.target as Element).id.slice("tab-".length); // Not the current one, since further keys may come before the next frame.
    const next = tabs[(tabs.indexOf(at) + by + tabs.length) % tabs.length];
    query({ tab: next }, true);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return h("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: move },
    tabs.map((t) => h("button", { key: t, id: `tab-${t}`, role: "tab", "aria-selected": String(current === t), tabindex: current === t ? "0" : "-1", onclick: () => query({ tab: t }, true) }, t[0].toUpperCase() + t.slice(1), more(t))));
}

/** head is the heading of a page. */
export function head(title: Child, ...more: Child[]): VNode {
  return h("header", { class: "page-head" }, h("h1", { tabindex: "-1", id: "title" }, title), h("div", { class: "head-more" }, more));
}
