// What work depends on: pools and their readers, models with prices and remaining room, budgets. The functions that name a state
// are pure.

import { Loader, seg } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { ago, clock, cost, count, money, oneLine } from "../core/format";
import { changed, copyable, empty, faultView, link, query } from "../core/page";
import { glyph } from "../core/status";
import { readTwins } from "../core/twin";

interface Spent { tokens?: number; cost_usd?: number; }
export interface Pool { pool: string; batches?: boolean; waiting: number; in_hand: number; again?: number; readers: number; limit?: number; experts?: string[]; }
export interface Model {
  name: string; model: string; host?: string; default?: boolean; fallback?: string[]; price?: { prompt: number; cached?: number; cache_write?: number; completion: number };
  limits?: { concurrency?: number; requests_per_minute?: number; tokens_per_minute?: number }; room?: { slots?: number; requests?: number; tokens?: number; closed?: string };
}
export interface Budget { scope: string; id?: string; limit?: Spent; spent?: Spent; left?: Spent; renews?: string; }

/** Mark is a judgement: a state with its colour and glyph, a word, and what to do if it needs attention. */
export interface Mark { state: string; word: string; care?: string; }

/** poolMark judges a pool. A pool without readers and without work in hand has no worker. */
export function poolMark(p: Pool): Mark {
  const waits = `${count(p.waiting)} ${p.waiting === 1 ? "waits" : "wait"}`;
  if (!p.readers && !p.in_hand && (p.waiting || !p.batches)) {
    const start = p.pool === "~planner" ? "start a planner" : `start a runner with --pools ${p.pool}`;
    return { state: p.waiting ? "failed" : "waiting", word: "no worker", care: `Pool ${p.pool}${p.batches ? " (batches)" : ""} has no worker${p.waiting ? ` and ${waits}` : ""}: ${start}` };
  }
  if (p.limit && p.in_hand >= p.limit && p.waiting) return { state: "waiting", word: "full", care: `Pool ${p.pool} is full and ${waits}: its limit is ${p.limit} at once` };
  if (p.in_hand) return { state: "running", word: "at work" };
  return p.readers ? { state: "finished", word: "has workers" } : { state: "planned", word: "no batches" };
}

/** modelMark says whether a model may be asked now. */
export function modelMark(m: Model, now = Date.now()): Mark {
  const r = m.room || {};
  if (r.closed && Date.parse(r.closed) > now) return { state: "waiting", word: "closed", care: `Model ${m.name} is closed until ${clock(r.closed)}: its provider has asked to wait` };
  const out = [r.slots === 0 ? "all its slots are taken" : "", r.requests === 0 ? "the requests of the minute are used up" : "", r.tokens === 0 ? "the tokens of the minute are used up" : ""].filter(Boolean);
  if (out.length) return { state: "waiting", word: "no room", care: `Model ${m.name} has no room: ${out.join(", ")}` };
  return m.room ? { state: "finished", word: "has room" } : { state: "planned", word: "no limit" };
}

/** nearly is the part of a budget from which it counts as nearly spent. */
const nearly = 0.8;

/** partOf returns how much of a budget is spent: the larger share of tokens and cost; undefined without a limit or an account. */
export function partOf(b: Budget): number | undefined {
  const parts = (["tokens", "cost_usd"] as const).filter((k) => b.limit?.[k]).map((k) => (b.spent?.[k] || 0) / b.limit![k]!);
  return parts.length && b.scope !== "each job" ? Math.max(...parts) : undefined;
}

/** budgetMark judges a budget. */
export function budgetMark(b: Budget): Mark {
  const part = partOf(b);
  const name = budgetName(b);
  const then = b.renews ? `it renews ${ago(b.renews)}` : b.scope === "session" ? "begin another session, or raise the limit" : "raise the limit";
  if (part === undefined) return b.scope === "each job" ? { state: "planned", word: "a rule" } : { state: "planned", word: "no limit" };
  if (part >= 1) return { state: "failed", word: "spent", care: `The budget of ${name} is spent: ${then}` };
  if (part >= nearly) return { state: "waiting", word: "nearly spent", care: `The budget of ${name} is nearly spent: ${then}` };
  return { state: "finished", word: "has room" };
}

function budgetName(b: Budget): string {
  return b.scope === "day" ? "the day" : `${b.scope}${b.id ? ` ${b.id}` : ""}`;
}

/** markView shows a mark. */
export function markView(m: Mark): VNode {
  return h("span", { class: `chip s-${m.state}`, title: m.care }, h("span", { class: "glyph", "aria-hidden": "true" }, m.care ? "!" : glyph[m.state]), m.word);
}

/** Column is a column of a table: its name, whether it contains figures, and its cell for a row. */
type Column<T> = [name: string, figures: boolean, cell: (row: T) => Child];

/** table shows rows; on a phone each is a card whose lines have the names of the columns. */
function table<T>(label: string, columns: Column<T>[], rows: T[], key: (row: T) => string): VNode {
  return h("table", { class: "supply", "aria-label": label },
    h("thead", null, h("tr", null, columns.map(([name, figures]) => h("th", { scope: "col", class: figures ? "num" : "" }, name)))),
    h("tbody", null, rows.map((r) => h("tr", { key: key(r), "data-row": key(r) }, columns.map(([name, figures, cell]) => h("td", { class: figures ? "num" : "", "data-label": name }, cell(r)))))));
}

/** part shows the fetched value or the fault, and the commands for a terminal. */
function part<T, R>(loader: Loader<T>, rows: (got: T) => R[], none: Child, show: (rows: R[]) => Child, verb: string, input: Record<string, string> = {}): Child {
  const { value, fault } = loader.load;
  const list = value && rows(value);
  return [
    fault ? faultView(value ? { ...fault, message: `these figures are old: ${fault.message}` } : fault, loader.refresh) : null,
    !value && !fault ? h("div", { class: "loading" }, "Reading …") : null,
    list ? (list.length ? show(list) : none) : null,
    h("details", { class: "twins" }, h("summary", null, "The same from a terminal"), readTwins(verb, input).map(([label, text]) => copyable(text, label))),
  ];
}

const dash = h("span", { class: "muted none" }, "–");

/** poolsView lists the pools. */
export function poolsView(pools: Loader<{ pools: Pool[] }>): Child {
  return part(pools, (got) => got.pools, empty("There is no pool yet.", h("p", { class: "muted" }, "A pool begins with the first runner that serves it.")), (rows) => [
    h("p", { class: "muted" }, "Waiting is work that no worker has taken, in hand is what workers hold leases of, readers are their open requests for work."),
    table<Pool>("Pools", [
      ["Pool", false, (p) => [h("span", { class: "title" }, oneLine(p.pool)), p.batches ? h("span", { class: "label" }, "batches") : null]],
      ["State", false, (p) => markView(poolMark(p))],
      ["Waiting", true, (p) => count(p.waiting)],
      ["In hand", true, (p) => [count(p.in_hand), p.limit ? ` of ${count(p.limit)}` : ""]],
      ["Delivered again", true, (p) => count(p.again)],
      ["Readers", true, (p) => count(p.readers)],
      ["Experts", false, (p) => (p.experts?.length ? h("span", { class: "mono" }, p.experts.map(oneLine).join(", ")) : dash)],
    ], rows, (p) => p.pool + (p.batches ? " batches" : "")),
  ], "pools");
}

/** modelsView lists the models. */
export function modelsView(models: Loader<{ models: Model[] }>): Child {
  const left = (of: number | undefined, room: number | undefined, unit: string) => (room === undefined ? null : h("div", null, `${count(room)} of ${count(of)} ${unit}`));
  return part(models, (got) => got.models, empty("No model is configured.", h("p", { class: "muted" }, "Models are described in ", h("code", null, "models"), " of jobgraph.yaml, with prices and limits.")), (rows) => [
    h("p", { class: "muted" }, "The models of the planner that answers; prices in US dollars for a million tokens. Each process has limits of its own: those of runners are not shown."),
    table<Model>("Models", [
      ["Model", false, (m) => [h("div", null, h("span", { class: "title" }, oneLine(m.name)), m.default ? h("span", { class: "label" }, "default") : null), h("div", { class: "sub" }, h("span", { class: "mono" }, oneLine(m.model)), m.host ? ` at ${oneLine(m.host)}` : "", m.fallback?.length ? `, then ${m.fallback.map(oneLine).join(", ")}` : "")]],
      ["State", false, (m) => markView(modelMark(m))],
      ["In", true, (m) => (m.price ? [money(m.price.prompt), m.price.cached !== undefined ? h("div", { class: "sub" }, `${money(m.price.cached)} cached`) : null, m.price.cache_write !== undefined ? h("div", { class: "sub" }, `${money(m.price.cache_write)} into the cache`) : null] : dash)],
      ["Out", true, (m) => (m.price ? money(m.price.completion) : dash)],
      ["Room now", true, (m) => (m.room ? [left(m.limits?.concurrency, m.room.slots, "at once"), left(m.limits?.requests_per_minute, m.room.requests, "requests a minute"), left(m.limits?.tokens_per_minute, m.room.tokens, "tokens a minute")] : dash)],
    ], rows, (m) => m.name),
  ], "models");
}

/** budgetsView lists the budgets, including those of the job or session that a person has named. */
export function budgetsView(supply: Supply): Child {
  const { budgets, of, asked } = supply;
  const ask = (e: Event) => {
    e.preventDefault();
    const id = asked.id.trim() || null;
    query({ job: asked.of === "job" ? id : null, session: asked.of === "session" ? id : null });
  };
  const amount = (s: Spent | undefined) => cost(s) || dash;
  return [
    h("form", { class: "toolbar", onsubmit: ask, "aria-label": "Budgets of a job or session" },
      h("select", { "aria-label": "Whose budgets", value: asked.of, oninput: (e: any) => (asked.of = e.target.value) }, h("option", { value: "job" }, "Job"), h("option", { value: "session" }, "Session")),
      h("input", { id: "budget-of", placeholder: "Id", "aria-label": "Id of the job or session", value: asked.id, autocomplete: "off", oninput: (e: any) => (asked.id = e.target.value) }),
      h("button", { type: "submit" }, "Show its budgets"), of.id ? link(`/jobs/${seg(of.id)}`, null, "The job") : of.session ? link(`/sessions/${seg(of.session)}`, null, "The session") : null),
    part(budgets, (got) => got.budgets, empty("No budget is set.", h("p", { class: "muted" }, "Nothing is counted without one. In jobgraph.yaml of the scheduler:"), h("code", { class: "block" }, "budgets: {day: {cost_usd: 20}, session: {tokens: 200000}}")), (rows) =>
      table<Budget>("Budgets", [
        ["Budget of", false, (b) => [h("span", { class: "title" }, b.scope), b.id ? h("span", { class: "mono" }, ` ${oneLine(b.id)}`) : null, b.scope === "each job" ? h("div", { class: "sub" }, "whose request has no limits") : null]],
        ["State", false, (b) => markView(budgetMark(b))],
        ["Spent", true, (b) => (b.scope === "each job" ? dash : [spentBar(b), cost(b.spent) || "nothing"])],
        ["Limit", true, (b) => amount(b.limit)],
        ["Left", true, (b) => (b.scope === "each job" ? dash : leftOf(b))],
        ["Renews", false, (b) => (b.renews ? h("span", { title: clock(b.renews) }, ago(b.renews)) : dash)],
      ], rows, (b) => `${b.scope} ${b.id || ""}`.trim()), "budgets", of),
  ];
}

/** leftOf shows what is left of each limit, even if that is nothing. */
function leftOf(b: Budget): Child {
  const parts = [b.limit?.tokens ? `${count(b.left?.tokens)} tokens` : "", b.limit?.cost_usd ? money(b.left?.cost_usd) : ""].filter(Boolean);
  return parts.join(" · ") || dash;
}

function spentBar(b: Budget): Child {
  const part = partOf(b);
  if (part === undefined) return null;
  const percent = Math.min(100, Math.floor(part * 100));
  return h("span", { class: "bar", role: "img", "aria-label": `${percent} % spent`, title: `${percent} % spent` }, h("span", { class: `bar-part s-${budgetMark(b).state}`, style: { flex: `0 0 ${percent}%` } }));
}

/** Supply fetches pools, models and budgets while a page shows them. */
export class Supply {
  of: { id?: string; session?: string } = {};
  asked = { of: "job", id: "" }; // The content of the form, whether sent or not.
  pools = new Loader<{ pools: Pool[] }>(() => "/pools", changed, 500);
  models = new Loader<{ models: Model[] }>(() => "/models", changed, 500);
  budgets = new Loader<{ budgets: Budget[] }>(() => {
    const q = new URLSearchParams(this.of as Record<string, string>).toString();
    return "/budgets" + (q ? "?" + q : "");
  }, changed, 500);
  all = [this.pools, this.models, this.budgets];

  /** ask adds the budgets of a job or session. */
  ask(id: string | null, session: string | null) {
    if ((id || "") === (this.of.id || "") && (session || "") === (this.of.session || "")) return;
    this.asked = { of: session ? "session" : "job", id: id || session || "" };
    this.of = { ...(id ? { id } : {}), ...(session ? { session } : {}) };
    this.budgets.forget();
  }

  /** marks are the judgements of everything that was fetched, by tab. */
  marks(): Record<string, Mark[]> {
    return {
      pools: (this.pools.load.value?.pools || []).map(poolMark), models: (this.models.load.value?.models || []).map((m) => modelMark(m)), budgets: (this.budgets.load.value?.budgets || []).map(budgetMark),
    };
  }
}
