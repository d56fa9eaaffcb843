// Experts by pool with their queues, the services that answer, and the budgets of the day and of sessions.

import { Loader } from "../core/api";
import { Child, h } from "../core/dom";
import { ago, cost, count, money, oneLine } from "../core/format";
import { changed, empty, faultView, head, Page } from "../core/page";

interface Card { id: string; name: string; kind: string; pool?: string; description?: string; skills?: string[]; tags?: string[]; runner?: string; seen?: string; hidden?: boolean; disabled?: boolean; pure?: boolean; concurrency?: number; model?: string; }
interface Pool { pool: string; waiting?: number; in_progress?: number; workers?: number; }
interface Budget { name: string; scope?: string; spent?: any; left?: any; limit?: any; }

export function expertsPage(): Page {
  const cards = new Loader<{ experts: Card[] }>(() => "/experts", changed, 500);
  const pools = new Loader<{ pools: Pool[]; models?: any[] }>(() => "/pools", changed, 500);
  const health = new Loader<{ ready: boolean; reasons: { name: string; text: string }[]; services: Record<string, number> }>(() => "/health", changed, 500);
  const budgets = new Loader<{ budgets: Budget[] }>(() => "/budgets", changed, 500);
  const all = [cards, health, pools, budgets];
  for (const l of all) l.refresh();
  const timer = setInterval(() => {
    if (!document.hidden) for (const l of all) if (l.load.value || !l.load.fault) l.refresh(); // What a gateway does not know is asked once.
  }, 4000);
  let find = "";
  const card = (e: Card): Child => h("li", { key: e.id, class: `card expert ${e.disabled ? "off" : ""}` },
    h("div", { class: "card-head" }, h("span", { class: "title" }, oneLine(e.name)), h("span", { class: "kind-chip" }, e.kind), e.hidden ? h("span", { class: "muted" }, "hidden") : null, e.disabled ? h("span", { class: "bad-text" }, "disabled") : null, h("span", { class: "grow" }), h("span", { class: "muted", title: e.seen }, e.seen ? `seen ${ago(e.seen)}` : "")),
    e.description ? h("p", null, oneLine(e.description)) : null,
    h("div", { class: "sub" }, h("span", { class: "mono" }, e.id), e.model ? ` · ${oneLine(e.model)}` : "", e.pure ? " · pure" : "", e.runner ? h("span", { title: e.runner }, ` · ${oneLine(e.runner).slice(0, 20)}…`) : ""),
    e.skills?.length || e.tags?.length ? h("div", { class: "labels" }, [...(e.skills || []), ...(e.tags || [])].slice(0, 8).map((t) => h("span", { class: "label" }, oneLine(t)))) : null);
  const view = (): Child => {
    const found = find.toLowerCase();
    const list = (cards.load.value?.experts || []).filter((e) => `${e.id} ${e.name} ${e.description || ""} ${e.kind} ${(e.skills || []).join(" ")}`.toLowerCase().includes(found));
    const names = [...new Set(list.map((e) => e.pool || "default"))];
    const hv = health.load.value;
    return [
      head("Experts", h("input", { type: "search", id: "search", placeholder: "Search experts", "aria-label": "Search experts", value: find, oninput: (e: any) => ((find = e.target.value), changed()) })),
      hv ? h("div", { class: "services" }, h("span", { class: `chip s-${hv.ready ? "finished" : "failed"}` }, hv.ready ? "✓ ready" : "✕ not ready"), Object.entries(hv.services).map(([s, n]) => h("span", { class: "fact" }, `${n} ${s}`)), hv.reasons.map((r) => h("span", { class: "bad-text" }, `${r.name}: ${r.text}`))) : null,
      cards.load.fault && !cards.load.value ? faultView(cards.load.fault, cards.refresh) : null,
      cards.load.value && !list.length ? empty(found ? "No expert matches." : "No expert is announced.", found ? null : h("code", { class: "block" }, "jobgraph up --experts experts/")) : null,
      names.map((name) => {
        const p = pools.load.value?.pools?.find((p) => p.pool === name);
        return h("section", { key: name }, h("h2", null, `Pool ${name}`, p ? h("span", { class: "muted num h2-more" }, `${count(p.waiting)} waiting · ${count(p.in_progress)} in progress${p.workers !== undefined ? ` · ${p.workers} workers` : ""}`) : null), h("ul", { class: "cards grid" }, list.filter((e) => (e.pool || "default") === name).map(card)));
      }),
      budgets.load.value?.budgets?.length ? h("section", null, h("h2", null, "Budgets"), h("table", { class: "data" }, h("thead", null, h("tr", null, h("th", null, "What"), h("th", { class: "num" }, "Spent"), h("th", { class: "num" }, "Left"))),
        h("tbody", null, budgets.load.value.budgets.map((b) => h("tr", null, h("td", null, oneLine(b.name)), h("td", { class: "num" }, cost(b.spent) || money(0)), h("td", { class: "num" }, cost(b.left) || "–")))))) : null,
    ];
  };
  return {
    title: "Experts", view,
    key(e) {
      if (e.key !== "/") return false;
      document.getElementById("search")?.focus();
      return true;
    },
    close() {
      clearInterval(timer);
      for (const l of all) l.close();
    },
  };
}
