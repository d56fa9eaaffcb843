// Schedules: when they fire next, how their runs went, pause, resume and trigger.

import { api, Loader, Refusal, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { ago, clock, oneLine } from "../core/format";
import { changed, copyable, empty, faultView, head, link, notify, Page } from "../core/page";

interface Schedule {
  id: string; status: string; schedule: any; request: any; next?: string; upcoming?: string[]; runs?: number; timezone?: string; reason?: string; overlap?: string; missed?: string; last?: any; recent?: any[]; asks?: { job_id: string; request: string; prompt?: string; expires?: string }[]; [more: string]: any;
}

export function schedulesPage(): Page {
  const list = new Loader<{ schedules: Schedule[]; total: number }>(() => "/schedules", changed, 500);
  list.refresh();
  const timer = setInterval(() => document.hidden || list.refresh(), 4000);
  const open = new Map<string, Schedule | null>();
  let sure = "";
  const act = async (s: Schedule, verb: string) => {
    if (verb === "delete" && sure !== s.id) {
      sure = s.id;
      return changed();
    }
    sure = "";
    try {
      await (verb === "delete" ? api.send("DELETE", `/schedules/${seg(s.id)}`) : api.send("POST", `/schedules/${seg(s.id)}/${verb}`, {}));
      notify(`${s.id}: ${verb}`);
      list.refresh();
    } catch (e: any) {
      notify(e.message, "bad", { hint: e instanceof Refusal ? e.fault.hint : "" });
    }
  };
  const toggle = (s: Schedule) => {
    if (open.delete(s.id)) return changed();
    open.set(s.id, null);
    changed();
    api.get<Schedule>(`/schedules/${seg(s.id)}`).then((got) => (open.set(s.id, got), changed()), () => {});
  };
  const row = (s: Schedule): Child => h("li", { key: s.id, class: "card" },
    h("div", { class: "card-head" },
      h("span", { class: `chip s-${s.status === "active" ? "running" : "stopped"}` }, h("span", { class: "glyph", "aria-hidden": "true" }, s.status === "active" ? "◷" : "❚❚"), s.status),
      h("button", { class: "linklike title", "aria-expanded": String(open.has(s.id)), onclick: () => toggle(s) }, oneLine(s.id)), h("span", { class: "muted" }, whenOf(s.schedule)),
      h("span", { class: "grow" }), s.next ? h("span", { class: "num", title: clock(s.next) }, `next ${ago(s.next)}`) : null),
    h("p", { class: "sub" }, oneLine(s.request?.goal || "")), s.reason ? h("p", { class: "hint" }, s.reason) : null,
    s.asks?.length ? h("ul", { class: "care" }, s.asks.map((q) => h("li", { key: q.job_id + q.request, class: "s-waiting" }, h("span", { class: "glyph", "aria-hidden": "true" }, "!"),
      h("span", null, "A run ", link(`/inbox?job=${seg(q.job_id)}`, null, "asks a person"), q.expires ? `, until ${clock(q.expires)}` : "", `: ${oneLine(q.prompt || "")}`)))) : null,
    h("div", { class: "row" },
      api.may("schedule.trigger") ? h("button", { class: "small", onclick: () => act(s, "trigger") }, "Run now") : null,
      api.may("schedule.pause") ? (s.status === "paused" ? h("button", { class: "small", onclick: () => act(s, "resume") }, "Resume") : h("button", { class: "small", onclick: () => act(s, "pause") }, "Pause")) : null,
      api.may("schedule.delete") ? h("button", { class: `small ${sure === s.id ? "danger" : ""}`, onclick: () => act(s, "delete") }, sure === s.id ? "Delete for good" : "Delete") : null),
    open.has(s.id) ? details(s, open.get(s.id)) : null);
  const view = (): Child => {
    const all = list.load.value?.schedules || [];
    return [
      head(["Schedules", list.load.value ? h("span", { class: "head-count" }, list.load.value.total) : null]),
      list.load.fault && !list.load.value ? faultView(list.load.fault, list.refresh) : null,
      list.load.value && !all.length ? empty("There are no schedules.", h("code", { class: "block" }, "jobgraph schedule create --daily 09:00 'Review what is open'")) : null,
      h("ul", { class: "cards" }, all.map(row)),
    ];
  };
  return { title: "Schedules", view, close: () => (clearInterval(timer), list.close()) };
}

function details(s: Schedule, got: Schedule | null | undefined): Child {
  const runs = (got?.history || got?.recent || got?.latest || []) as any[];
  return h("div", null,
    h("p", { class: "muted" }, `overlap ${s.overlap || "–"} · missed ${s.missed || "–"} · ${s.runs || 0} runs`),
    s.upcoming?.length ? h("p", null, "Next: ", s.upcoming.map((u) => clock(u)).join(", ")) : null,
    runs.length ? h("ul", { class: "plain-list" }, runs.slice(0, 20).map((r) => h("li", null, clock(r.due || r.started || r.at), " ", r.job || r.job_id ? link(`/jobs/${seg(r.job || r.job_id)}`, { class: "mono" }, r.job || r.job_id) : "", r.status ? ` ${r.status}` : ""))) : null,
    copyable(`jobgraph schedule runs ${s.id}`, "CLI"));
}

function whenOf(s: any): string {
  if (!s) return "";
  if (s.interval_minutes) return `every ${s.interval_minutes} min`;
  if (s.daily_time) return `daily ${s.daily_time}${s.timezone ? ` ${s.timezone}` : ""}`;
  if (s.cron) return `cron ${s.cron}${s.timezone ? ` ${s.timezone}` : ""}`;
  return s.at ? `once ${clock(s.at)}` : "";
}
