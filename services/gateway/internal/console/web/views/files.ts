// Files of a job with a bounded preview; the whole file is only a link, whatever its size.

import { api, seg, under } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { bytes, oneLine } from "../core/format";
import { changed } from "../core/page";
import { htmlView } from "../core/render";
import type { File } from "../core/types";

interface Preview { name: string; media_type: string; size: number; kind: string; html?: string; rows?: string[][]; text?: string; truncated?: boolean; src?: string; }

const previews = new Map<string, Preview | string>();
const open = new Set<string>();

export function filesView(job: string, files: File[], offline = false): VNode {
  return h("ul", { class: "files" }, files.map((f) => {
    const key = `${job}/${f.digest}`;
    const shown = open.has(key);
    return h("li", { key: f.digest + f.name },
      h("div", { class: "file-row" },
        offline ? h("span", { class: "title" }, oneLine(f.name)) : h("button", { class: "linklike title", "aria-expanded": String(shown), onclick: () => toggle(job, f) }, oneLine(f.name || f.digest.slice(0, 12))),
        h("span", { class: "muted num" }, bytes(f.size)), f.subjob ? h("span", { class: "muted" }, oneLine(f.subjob)) : null,
        offline ? null : h("a", { href: f.href || under(`/jobs/${seg(job)}/artifacts/${seg(f.digest)}`), download: oneLine(f.name || f.digest) }, "Save")),
      shown ? preview(key) : null);
  }));
}

function toggle(job: string, f: File) {
  const key = `${job}/${f.digest}`;
  if (!open.delete(key)) open.add(key);
  if (!previews.has(key)) {
    api.get<Preview>(`/jobs/${seg(job)}/preview/${seg(f.digest)}`).then((p) => previews.set(key, p), (e) => previews.set(key, e.message)).finally(changed);
  }
  changed();
}

function preview(key: string): Child {
  const p = previews.get(key);
  if (!p) return h("div", { class: "loading" }, "Reading …");
  if (typeof p === "string") return h("div", { class: "bad-text" }, p);
  return h("div", { class: "preview" }, body(p, key), p.truncated ? h("p", { class: "muted" }, `The beginning; the whole has ${bytes(p.size)}.`) : null);
}

function body(p: Preview, key: string): Child {
  if (p.src && p.kind === "image") return h("img", { src: p.src, alt: p.name, loading: "lazy" });
  if (p.rows) return h("div", { class: "scroll-x" }, h("table", { class: "data" }, p.rows.slice(0, 200).map((r, i) => h("tr", null, r.slice(0, 50).map((c) => h(i ? "td" : "th", null, c))))));
  if (p.html !== undefined) return htmlView(p.html, key, `rich ${p.kind}`);
  if (p.text !== undefined) return h("pre", null, p.text);
  return h("p", { class: "muted" }, `No preview of ${p.media_type || "this type"}.`);
}
