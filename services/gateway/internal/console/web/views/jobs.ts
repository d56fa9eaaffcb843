// The list of jobs: search, filters by status and time, progress and cost.

import { api, Loader } from "../core/api";
import { Child, h } from "../core/dom";
import { ago, clock, cost, oneLine, span } from "../core/format";
import { changed, empty, faultView, go, head, link, Page, query } from "../core/page";
import { bar, chip, isOver } from "../core/status";
import type { JobLine } from "../core/types";

const statuses = ["RUNNING", "WAITING", "PLANNING", "FINISHED", "FAILED", "STOPPED"];
const periods: Record<string, number> = { hour: 3600e3, day: 86400e3, week: 7 * 86400e3 };
const pageSize = 100;

export function jobsPage(q: URLSearchParams): Page {
  let offset = 0;
  const path = () => {
    const ask = new URLSearchParams({ limit: String(pageSize), offset: String(offset) });
    const since = periods[q.get("in") || ""];
    if (q.get("q")) ask.set("find", q.get("q")!);
    if (q.get("status")) ask.set("state", q.get("status")!);
    if (since) ask.set("since", new Date(Date.now() - since).toISOString());
    return `/jobs?${ask}`;
  };
  const jobs = new Loader<{ jobs: JobLine[]; total: number }>(path, changed, 500);
  jobs.refresh();
  const timer = setInterval(() => document.hidden || jobs.refresh(), 2500);
  const picked = new Set<string>();

  const filters = () => h("div", { class: "toolbar", role: "search" },
    h("input", { type: "search", id: "search", placeholder: "Search id, title, goal, label, user", "aria-label": "Search jobs", value: q.get("q") || "", oninput: (e: any) => query({ q: e.target.value || null }, true) }),
    h("select", { "aria-label": "Status", value: q.get("status") || "", onchange: (e: any) => query({ status: e.target.value || null }) },
      h("option", { value: "" }, "Any status"), statuses.map((s) => h("option", { value: s, selected: q.get("status") === s }, s.toLowerCase()))),
    h("select", { "aria-label": "Time", value: q.get("in") || "", onchange: (e: any) => query({ in: e.target.value || null }, true) },
      h("option", { value: "" }, "Any time"), Object.keys(periods).map((p) => h("option", { value: p, selected: q.get("in") === p }, `last ${p}`))));

  const row = (j: JobLine): Child => {
    const end = isOver(j.status) ? Date.parse(j.ended || j.changed || "") : Date.now();
    return h("tr", { key: j.id, "data-job": j.id, "data-status": j.status, class: j.quarantined ? "bad" : "" },
      h("td", { class: "pick" }, h("input", { type: "checkbox", "aria-label": `Choose ${j.id}`, checked: picked.has(j.id), onchange: (e: any) => {
        if (e.target.checked) picked.add(j.id);
        else picked.delete(j.id);
        changed();
      } })),
      h("td", { class: "status" }, chip(j.status)),
      h("td", { class: "what" }, link(`/jobs/${encodeURIComponent(j.id)}`, { class: "title" }, oneLine(j.title || j.goal || j.id)),
        h("div", { class: "sub" }, h("span", { class: "mono" }, j.id), j.user ? ` · ${oneLine(j.user)}` : "", j.session ? h("span", null, " · ", link(`/sessions/${encodeURIComponent(j.session)}`, null, oneLine(j.session))) : null,
          Object.entries(j.labels || {}).slice(0, 4).map(([k, v]) => h("span", { class: "label" }, oneLine(`${k}=${v}`))), j.outcome ? ` · ${j.outcome}` : ""),
        j.quarantined ? h("div", { class: "sub bad-text" }, "in quarantine: ", j.quarantined.message) : null),
      h("td", { class: "progress" }, j.progress?.total ? [h("span", { class: "num" }, `${j.progress.done}/${j.progress.total}`),
        bar({ finished: j.progress.done, planned: j.progress.total - j.progress.done })] : null),
      h("td", { class: "num wide-only" }, cost(j.cost)),
      h("td", { class: "num wide-only" }, j.created ? span(end - Date.parse(j.created)) : ""),
      h("td", { class: "when", title: clock(j.changed || j.created) }, ago(j.changed || j.created)));
  };

  const view = () => {
    const load = jobs.load;
    const list = load.value?.jobs || [];
    const filtered = !!(q.get("q") || q.get("status") || q.get("in"));
    const total = load.value?.total || 0;
    const two = [...picked];
    return [
      head(["Jobs", load.value ? h("span", { class: "head-count" }, total) : null],
        two.length === 2 ? h("button", { onclick: () => go(`/compare/${encodeURIComponent(two[0])}/${encodeURIComponent(two[1])}`) }, "Compare the two") : null,
        link("/open", { class: "button" }, "Open an export"),
        api.may("submit") ? link("/submit", { class: "button primary" }, "New job") : null),
      filters(),
      load.fault && !load.value ? faultView(load.fault, jobs.refresh) : null,
      !load.value && !load.fault ? h("div", { class: "loading" }, "Reading jobs …") : null,
      load.value && !list.length ? (filtered ? empty("No job matches.", h("button", { onclick: () => go("/jobs") }, "Remove the filters")) : empty("There are no jobs yet.",
        h("p", null, "Submit one here, or from a terminal:"), h("code", { class: "block" }, "jobgraph submit 'Plan a birthday party'"))) : null,
      list.length ? h("table", { class: "jobs" },
        h("thead", null, h("tr", null, h("th", { class: "pick" }, h("span", { class: "sr" }, "Choose")), h("th", null, "Status"), h("th", null, "Job"), h("th", null, "Steps"), h("th", { class: "num wide-only" }, "Cost"), h("th", { class: "num wide-only" }, "Time"), h("th", { class: "when" }, "Changed"))),
        h("tbody", null, list.map(row))) : null,
      total > pageSize ? h("div", { class: "pager" },
        h("button", { disabled: offset === 0, onclick: () => ((offset = Math.max(0, offset - pageSize)), jobs.refresh()) }, "Newer"),
        h("span", { class: "muted" }, `${offset + 1}–${Math.min(total, offset + pageSize)} of ${total}`),
        h("button", { disabled: offset + pageSize >= total, onclick: () => ((offset += pageSize), jobs.refresh()) }, "Older")) : null,
    ];
  };

  return {
    title: "Jobs", view,
    moved(next) {
      q = next;
      offset = 0;
      jobs.refresh();
      changed();
    },
    key(e) {
      if (e.key !== "/") return false;
      document.getElementById("search")?.focus();
      return true;
    },
    close() {
      clearInterval(timer);
      jobs.close();
    },
  };
}
