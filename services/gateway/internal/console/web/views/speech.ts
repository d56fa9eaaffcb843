// What a run says while it works: text, thoughts, tool calls, lines of its log.

import { h, VNode } from "../core/dom";
import { bytes, oneLine, span } from "../core/format";
import type { Speech } from "../core/store";
import type { Item } from "../core/types";

const sign: Record<string, string> = { text: "|", thinking: "~", tool: ">", log: "!", progress: "*", component: "#", seam: "=", gap: "?", prompt: "<" };

export function speechView(s: Speech, most: number): VNode {
  const rate = s.rate();
  return h("div", { class: "speech" }, rate > 0 ? h("p", { class: "muted num" }, `about ${rate.toFixed(0)} tokens/s`) : null,
    h("ul", null, s.items.slice(-most).map((i) => h("li", { key: `${i.run}/${i.id}`, class: `say-${i.type}` }, h("span", { class: "sign", "aria-hidden": "true" }, sign[i.type] || "·"), body(i, most < 100)))));
}

function body(i: Item, short: boolean): VNode {
  switch (i.type) {
    case "tool":
      return h("span", null, h("strong", null, oneLine(i.tool)), " ", h("code", null, oneLine(typeof i.args === "string" ? i.args : JSON.stringify(i.args || ""))),
        h("span", { class: "muted" }, i.done ? ` ${i.outcome || "done"}${i.took_ms ? ` in ${span(i.took_ms)}` : ""}${i.bytes ? `, ${bytes(i.bytes)}` : ""}` : " …"));
    case "seam":
      return h("span", { class: "muted" }, i.text || "the run goes on in another runner");
    case "gap":
      return h("span", { class: "muted" }, i.text || `something is missing here${i.truncated ? ` (${bytes(i.truncated)})` : ""}`);
  }
  return h("pre", { class: i.type === "thinking" ? "muted" : "" }, short ? tail(i.text || "") : i.text || "");
}

/** tail returns the last few lines of a text. */
function tail(text: string): string {
  const lines = text.slice(-2000).split("\n");
  return lines.slice(-9).join("\n");
}
