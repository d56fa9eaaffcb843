// Markdown, code, data and differences as rendered by the server, cached by content. Until an answer arrives, and if none does, the
// plain text is shown.

import { api } from "./api";
import { h, VNode } from "./dom";
import { cut, pretty } from "./format";
import { changed } from "./page";
import { rich } from "./rich";

const known = new Map<string, { html?: string; truncated?: boolean; failed?: boolean }>();
const most = 256 << 10; // The most characters that are sent to be rendered.

interface Source { kind: "markdown" | "code" | "json" | "diff"; text?: string; language?: string; before?: unknown; after?: unknown; }

/** rendered shows a source. If offline, no server is asked, and the plain text is shown. */
export function rendered(s: Source, offline = false): VNode {
  const text = s.kind === "diff" ? "" : s.text || "";
  if (offline || text.length > most) return plain(s);
  const key = JSON.stringify(s);
  let r = known.get(key);
  if (!r) {
    known.set(key, (r = {}));
    if (known.size > 300) known.delete(known.keys().next().value!);
    const entry = r;
    api.send<{ html: string; truncated?: boolean }>("POST", "/render", s).then((a) => {
      entry.html = a.html;
      entry.truncated = a.truncated;
    }, () => (entry.failed = true)).finally(changed);
  }
  if (r.html === undefined) return plain(s);
  return h("div", { key, class: `rich ${s.kind}`, opaque: true, ref: fill(r.html) }, null);
}

/** htmlView shows HTML that the server has sanitised. */
export function htmlView(html: string, key: string, name = "rich markdown"): VNode {
  return h("div", { key, class: name, opaque: true, ref: fill(html) });
}

function fill(html: string) {
  return (el: Element) => el.replaceChildren(rich(html));
}

function plain(s: Source): VNode {
  if (s.kind === "diff") return h("div", { class: "two" }, h("pre", null, cut(pretty(s.before), 16384)), h("pre", null, cut(pretty(s.after), 16384)));
  return h("pre", { class: s.kind === "markdown" ? "prose" : "" }, cut(s.text || "", 64 << 10));
}

/** spoken shows what people and models say: Markdown in which each line break is kept. */
export function spoken(text: string, offline = false): VNode {
  return rendered({ kind: "markdown", text: text.replace(/([^\n])\n(?=[^\n])/g, "$1  \n") }, offline);
}

/** value shows any JSON: a text as Markdown, anything else as data. */
export function value(v: unknown, offline = false): VNode {
  if (typeof v === "string") return rendered({ kind: "markdown", text: v }, offline);
  if (v === null || typeof v !== "object") return h("pre", null, String(v));
  return rendered({ kind: "json", text: JSON.stringify(v, null, 2) }, offline);
}
