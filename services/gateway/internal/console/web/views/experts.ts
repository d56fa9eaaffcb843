// Experts by pool, the services that answer, and what work depends on: pools, models, budgets.

import { Loader } from "../core/api";
import { Child, h } from "../core/dom";
import { ago, oneLine } from "../core/format";
import { changed, copyable, empty, faultView, head, Page, query, tabBar } from "../core/page";
import { budgetsView, markView, modelsView, poolMark, poolsView, Supply } from "./supply";

interface Card { id: string; name: string; kind: string; pool?: string; description?: string; skills?: string[]; tags?: string[]; runner?: string; seen?: string; hidden?: boolean; disabled?: boolean; pure?: boolean; concurrency?: number; model?: string; }

const tabs = ["experts", "pools", "models", "budgets"];

export function expertsPage(q: URLSearchParams): Page {
  const cards = new Loader<{ experts: Card[] }>(() => "/experts", changed, 500);
  const health = new Loader<{ ready: boolean; reasons: { name: string; text: string }[]; services: Record<string, number> }>(() => "/health", changed, 500);
  const supply = new Supply();
  supply.ask(q.get("job"), q.get("session"));
  const all = [cards, health, ...supply.all];
  for (const l of all) l.refresh();
  const timer = setInterval(() => {
    if (!document.hidden) for (const l of all) if (l.load.value || !l.load.fault) l.refresh(); // A list that the gateway does not know is requested only once.
  }, 4000);
  let find = "";
  const tab = () => (tabs.includes(q.get("tab") || "") ? q.get("tab")! : "experts");
  const card = (e: Card): Child => h("li", { key: e.id, class: `card expert ${e.disabled ? "off" : ""}` },
    h("div", { class: "card-head" }, h("span", { class: "title" }, oneLine(e.name)), h("span", { class: "kind-chip" }, e.kind), e.hidden ? h("span", { class: "muted" }, "hidden") : null, e.disabled ? h("span", { class: "bad-text" }, "disabled") : null, h("span", { class: "grow" }), h("span", { class: "muted", title: e.seen }, e.seen ? `seen ${ago(e.seen)}` : "")),
    e.description ? h("p", null, oneLine(e.description)) : null,
    h("div", { class: "sub" }, h("span", { class: "mono" }, e.id), e.model ? ` · ${oneLine(e.model)}` : "", e.pure ? " · pure" : "", e.runner ? h("span", { title: e.runner }, ` · ${oneLine(e.runner).slice(0, 20)}…`) : ""),
    e.skills?.length || e.tags?.length ? h("div", { class: "labels" }, [...(e.skills || []), ...(e.tags || [])].slice(0, 8).map((t) => h("span", { class: "label" }, oneLine(t)))) : null);
  const expertsView = (): Child => {
    const found = find.toLowerCase();
    const list = (cards.load.value?.experts || []).filter((e) => `${e.id} ${e.name} ${e.description || ""} ${e.kind} ${(e.skills || []).join(" ")}`.toLowerCase().includes(found));
    const names = [...new Set(list.map((e) => e.pool || "default"))];
    return [
      h("div", { class: "toolbar" }, h("input", { type: "search", id: "search", placeholder: "Search experts", "aria-label": "Search experts", value: find, oninput: (e: any) => ((find = e.target.value), changed()) })),
      cards.load.fault && !cards.load.value ? faultView(cards.load.fault, cards.refresh) : null,
      !cards.load.value && !cards.load.fault ? h("div", { class: "loading" }, "Reading …") : null,
      cards.load.value && !list.length ? empty(found ? "No expert matches." : "No expert is announced.", found ? null : h("code", { class: "block" }, "jobgraph up --experts experts/")) : null,
      names.map((name) => {
        const p = supply.pools.load.value?.pools.find((p) => p.pool === name && !p.batches);
        return h("section", { key: name }, h("h2", null, `Pool ${name}`, p ? h("span", { class: "h2-more" }, markView(poolMark(p))) : null), h("ul", { class: "cards grid" }, list.filter((e) => (e.pool || "default") === name).map(card)));
      }),
      h("details", { class: "twins" }, h("summary", null, "The same from a terminal"), copyable("jobgraph experts", "CLI")),
    ];
  };
  const view = (): Child => {
    const hv = health.load.value;
    const marks = supply.marks();
    const care = Object.values(marks).flat().filter((m) => m.care);
    return [
      head("Experts", hv ? h("div", { class: "services" }, h("span", { class: `chip s-${hv.ready ? "finished" : "failed"}` }, hv.ready ? "✓ ready" : "✕ not ready"), Object.entries(hv.services).map(([s, n]) => h("span", { class: "fact" }, `${n} ${s}`)), hv.reasons.map((r) => h("span", { class: "bad-text" }, `${r.name}: ${r.text}`))) : null),
      h("ul", { class: "care", role: "status" }, care.map((m) => h("li", { key: m.care, class: `s-${m.state}` }, h("span", { class: "glyph", "aria-hidden": "true" }, "!"), m.care))),
      tabBar(tabs, tab(), "Experts and what work needs", (t) => (marks[t]?.some((m) => m.care) ? h("span", { class: "badge", "aria-label": "needs care" }, marks[t].filter((m) => m.care).length) : null)),
      h("div", { class: "tab-body", role: "tabpanel", "aria-labelledby": `tab-${tab()}`, "data-view": tab() },
        tab() === "pools" ? poolsView(supply.pools) : tab() === "models" ? modelsView(supply.models) : tab() === "budgets" ? budgetsView(supply) : expertsView()),
    ];
  };
  return {
    title: "Experts", view,
    moved(next) {
      q = next;
      supply.ask(q.get("job"), q.get("session"));
      changed();
    },
    key(e) {
      if (e.key !== "/") return false;
      if (tab() !== "experts") query({ tab: "experts" }, true);
      requestAnimationFrame(() => document.getElementById("search")?.focus());
      return true;
    },
    close() {
      clearInterval(timer);
      for (const l of all) l.close();
    },
  };
}
