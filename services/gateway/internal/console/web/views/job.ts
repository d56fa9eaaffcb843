// One job: its head, the graph, steps, timeline, events and result; the drawer of a step; the slider through its log.

import { api, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { clock, cost, oneLine, span } from "../core/format";
import { changed, faultView, head, link, Page, query, say, tabBar } from "../core/page";
import { bar, chip, isOver } from "../core/status";
import { JobStore } from "../core/store";
import type { Graph } from "../core/types";
import { eventsView } from "./events";
import { graphView, GraphState } from "./graphview";
import { Menu } from "./actions";
import { resultView } from "./result";
import { slider } from "./slider";
import { stepDrawer, StepState } from "./step";
import { stepsView } from "./steps";
import { timelineView } from "./timeline";

const tabs = ["graph", "steps", "timeline", "events", "result"];

export function jobPage(q: URLSearchParams, id: string): Page {
  const store = new JobStore(id, changed, say);
  store.open();
  return jobView(store, q);
}

/** jobView is the page of a store, which is the server's or an export's. */
export function jobView(store: JobStore, q: URLSearchParams, title?: Child): Page {
  const graph = new GraphState();
  const menu = new Menu(store);
  let step: StepState | null = null;
  let quiet: (() => void) | null = null;
  let opener: Element | null = null;

  const follow = () => {
    const want = q.get("step") || "";
    const at = Number(q.get("at")) || (store.offline ? store.head : 0);
    if (at !== store.at) store.wind(at);
    if ((step?.id || "") !== want) {
      if (!step) {
        opener = document.activeElement;
        changed();
        requestAnimationFrame(() => document.getElementById("step-title")?.focus({ preventScroll: true })); // As soon as it is drawn; later it would take the focus from a field.
      }
      step?.close();
      step = want ? new StepState(store, want) : null;
      if (!step && opener instanceof HTMLElement) opener.focus();
    }
    step?.wind();
    const listening = !store.at && !store.offline && (!!step || (q.get("tab") || "graph") === "graph");
    if (listening && !quiet) quiet = store.listen();
    if (!listening && quiet) {
      quiet();
      quiet = null;
    }
  };
  follow();

  const tab = () => (tabs.includes(q.get("tab") || "") ? q.get("tab")! : narrow() ? "steps" : "graph");

  const content = (g: Graph): Child => {
    switch (tab()) {
      case "steps": return stepsView(store, g, step?.id || "");
      case "timeline": return timelineView(store, step?.id || "");
      case "events": return eventsView(store);
      case "result": return resultView(store, g);
    }
    return graphView(store, g, graph, step?.id || "");
  };

  const view = (): Child => {
    const load = store.graph?.load;
    const g = store.frame;
    if (!g) {
      if (load?.fault) return [head("Job " + oneLine(store.id)), faultView(load.fault, load.fault.code === "not_found" ? undefined : store.graph!.refresh), h("p", null, link("/jobs", null, "All jobs"))];
      return [head(oneLine(store.id)), h("div", { class: "loading" }, store.at ? "Reading the log …" : "Reading the job …")];
    }
    return h("div", { class: `job ${step ? "with-drawer" : ""} ${store.at && !store.offline ? "past" : ""}` },
      h("div", { class: "job-main" },
        jobHead(store, g, menu, title),
        tabBar(tabs, tab(), "Views of the job"),
        h("div", { class: `tab-body tab-${tab()}`, "data-view": tab(), role: "tabpanel", "aria-labelledby": `tab-${tab()}` }, content(g)),
        slider(store)),
      step ? stepDrawer(step, store, g) : null,
      menu.view());
  };

  return {
    title: oneLine(store.id), view,
    moved(next) {
      q = next;
      follow();
      changed();
    },
    key(e) {
      if (e.key === "Escape" && menu.isOpen) {
        menu.close();
        return true;
      }
      if (e.key === "Escape" && step) {
        query({ step: null });
        return true;
      }
      if (e.key === "/") {
        (document.getElementById("find") as HTMLElement | null)?.focus();
        return true;
      }
      return false;
    },
    close() {
      step?.close();
      quiet?.();
      store.close();
    },
  };
}

/** narrow reports whether the page is as narrow as a phone. */
export function narrow(): boolean {
  return innerWidth < 640;
}

function jobHead(store: JobStore, g: Graph, menu: Menu, title?: Child): Child {
  const end = g.ended ? Date.parse(g.ended) : store.at ? Date.parse(g.time) : Date.now();
  const spent = cost(g.cost);
  const done = g.counts?.finished || 0;
  const total = g.subjobs.length;
  return h("div", { class: "job-head", "data-status": g.status },
    store.missing ? h("div", { class: "banner", role: "status" }, store.missing, h("button", { class: "plain", "aria-label": "Close", onclick: () => ((store.missing = ""), changed()) }, "×")) : null,
    h("div", { class: "crumb" }, title || link("/jobs", null, "Jobs"), " / ", h("span", { class: "mono" }, oneLine(g.job_id))),
    head(oneLine(g.title || g.goal || g.job_id), store.offline ? null : menu.bar(g)),
    h("div", { class: "facts" },
      chip(g.status),
      total ? h("span", { class: "fact steps-bar" }, bar(g.counts), h("span", { class: "num" }, `${done}/${total}`)) : null,
      h("span", { class: "fact num", title: `from ${clock(g.created)}` }, span(end - Date.parse(g.created))),
      spent ? (store.offline ? h("span", { class: "fact num" }, spent) : link(`/experts?tab=budgets&job=${seg(g.job_id)}`, { class: "fact num", title: "Budgets of this job" }, spent)) : null,
      g.plan_version > 1 ? h("span", { class: "fact" }, `plan v${g.plan_version}`) : null,
      g.planning && !isOver(g.status) && g.planning.state !== "finished" ? h("span", { class: "fact" }, `planning ${g.planning.state}`) : null,
      g.questions?.length && !store.offline ? link(`/inbox?job=${seg(g.job_id)}`, { class: "fact ask" }, `${g.questions.length} open question${g.questions.length > 1 ? "s" : ""}`) : null,
      store.graph?.load.fault && api.link === "ok" ? h("span", { class: "fact bad-text" }, store.graph.load.fault.message) : null,
      store.offline ? h("span", { class: "fact" }, "from a file, no server is asked") : null));
}
