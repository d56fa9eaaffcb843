// The journal of a step: calls of models and tools with arguments, answers, tokens, cost and duration.

import { Child, h } from "../core/dom";
import { bytes, clock, cost, oneLine, pretty, span, cut } from "../core/format";
import { changed } from "../core/page";
import { rendered } from "../core/render";
import type { JobStore } from "../core/store";
import type { Call } from "../core/types";

const open = new Set<string>();

export function callsView(store: JobStore, step: string, calls: Call[]): Child {
  if (!calls.length) return h("p", { class: "muted" }, "No call is recorded: this step has neither asked a model nor used a tool.");
  const sum = { tokens: 0, cost_usd: 0 };
  let took = 0;
  for (const c of calls) {
    sum.tokens += c.tokens || 0;
    sum.cost_usd += c.cost_usd || 0;
    took += c.took_ms || 0;
  }
  return [
    h("p", { class: "muted" }, `${calls.length} call${calls.length > 1 ? "s" : ""} · ${span(took)}${cost(sum) ? ` · ${cost(sum)}` : ""}`),
    h("ul", { class: "calls" }, calls.slice(-300).map((c) => call(store, step, c))),
  ];
}

function call(store: JobStore, step: string, c: Call): Child {
  const key = `${store.id}/${step}/${c.run}/${c.key}`;
  const shown = open.has(key);
  const toggle = () => {
    if (!open.delete(key)) open.add(key);
    changed();
  };
  return h("li", { key, class: `call ${c.outcome}` },
    h("button", { class: "call-row", "aria-expanded": String(shown), onclick: toggle },
      h("span", { class: "glyph", "aria-hidden": "true" }, { done: "✓", failed: "✕", open: "…" }[c.outcome] || "·"),
      h("span", { class: "what" }, h("strong", null, oneLine(c.name)), c.model ? h("span", { class: "muted" }, ` ${oneLine(c.model)}`) : null, h("span", { class: "sub" }, cut(oneLine(brief(c.args)), 110))),
      h("span", { class: "num muted" }, [c.outcome === "open" ? "open" : span(c.took_ms || 0), cost(c)].filter(Boolean).join(" · "))),
    shown ? h("div", { class: "call-open" },
      h("p", { class: "muted" }, `run ${c.run} · ${clock(c.asked, true)}${(c.begun || 1) > 1 ? ` · begun ${c.begun} times` : ""}`),
      c.reason ? h("p", { class: "bad-text" }, c.reason) : null,
      c.args !== undefined ? [h("h4", null, "Arguments", c.args_truncated ? h("span", { class: "muted" }, ` the beginning of ${bytes(c.args_size)}`) : null), data(c.args)] : null,
      c.answer !== undefined ? [h("h4", null, "Answer", c.answer_truncated ? h("span", { class: "muted" }, ` the beginning of ${bytes(c.answer_size)} `) : null, c.answer_href ? h("a", { href: c.answer_href, download: "" }, "Save the whole") : null), data(c.answer)] : null) : null);
}

function brief(args: any): string {
  if (args === undefined || args === null) return "";
  return typeof args === "string" ? args : JSON.stringify(args);
}

function data(v: any): Child {
  return typeof v === "string" ? h("pre", null, cut(v, 64 << 10)) : rendered({ kind: "json", text: pretty(v) });
}
