// The console: the frame around pages, the router, the theme. Start reading here; docs/console-code.md is the map.

import "./theme.css";
import "./layout.css";
import "./job.css";
import { api, Refusal } from "./core/api";
import { Child, h, patch } from "./core/dom";
import { icon } from "./core/icon";
import { address, changed, dismiss, faultView, link, notices, onRedraw, Page } from "./core/page";
import type { Me, Question } from "./core/types";
import { register } from "./graph/element";
import { comparePage } from "./views/compare";
import { openPage } from "./views/exported";
import { expertsPage } from "./views/experts";
import { inboxPage } from "./views/inbox";
import { jobPage } from "./views/job";
import { jobsPage } from "./views/jobs";
import { lettersPage } from "./views/letters";
import { schedulesPage } from "./views/schedules";
import { sessionPage, sessionsPage } from "./views/sessions";
import { signIn } from "./views/signin";
import { submitPage } from "./views/submit";

type Make = (query: URLSearchParams, ...args: string[]) => Page;

const routes: [RegExp, Make][] = [
  [/^\/jobs$/, jobsPage],
  [/^\/jobs\/([^/]+)$/, jobPage],
  [/^\/inbox$/, inboxPage],
  [/^\/submit$/, submitPage],
  [/^\/sessions$/, sessionsPage],
  [/^\/sessions\/([^/]+)$/, sessionPage],
  [/^\/schedules$/, schedulesPage],
  [/^\/experts$/, expertsPage],
  [/^\/letters$/, lettersPage],
  [/^\/compare\/([^/]+)\/([^/]+)$/, comparePage],
  [/^\/open$/, openPage],
];

const places = [
  { to: "/jobs", text: "Jobs", icon: "jobs" },
  { to: "/inbox", text: "Inbox", icon: "inbox" },
  { to: "/sessions", text: "Sessions", icon: "sessions" },
  { to: "/schedules", text: "Schedules", icon: "schedules" },
  { to: "/experts", text: "Experts", icon: "experts" },
  { to: "/letters", text: "Set aside", icon: "letters" },
];

let page: Page | null = null;
let path = "";
let open = 0; // The number of open questions.
let denied = false; // The address contained an invalid token.

function route() {
  const [next, text] = (address() || "/jobs").split("?");
  const q = new URLSearchParams(text || "");
  if (page && next === path && page.moved) {
    page.moved(q);
    return changed();
  }
  page?.close();
  page = null;
  path = next;
  for (const [pattern, make] of routes) {
    const found = pattern.exec(next);
    if (!found) continue;
    try {
      page = make(q, ...found.slice(1).map(decodeURIComponent));
    } catch (e) {
      if (!(e instanceof URIError)) throw e;
    }
    break;
  }
  changed();
  // On every further page the focus moves to the title, for keyboard and screen reader alike; the first load leaves it where it is.
  if (routed) requestAnimationFrame(() => document.getElementById("title")?.focus({ preventScroll: true }));
  routed = true;
  scrollTo(0, 0);
}

let routed = false;

function draw() {
  const root = document.getElementById("app");
  if (!root) return;
  document.title = `${open ? `(${open}) ` : ""}${page?.title || "Not found"} · Jobgraph`;
  if (api.link === "expired") return patch(root, [signIn(denied, api.reason)]);
  patch(root, [
    h("a", { class: "skip", href: "#title", onclick: (e: Event) => (e.preventDefault(), document.getElementById("title")?.focus()) }, "Skip to content"),
    sidebar(),
    h("main", { id: "main" }, banner(), page ? h("div", { class: "page", "data-view": path.split("/")[1], key: path }, described(page)) : missing()),
    toasts(),
  ]);
}

/** described returns what a page shows; a page that fails leaves the others usable. */
function described(p: Page): Child {
  try {
    return p.view();
  } catch (e: any) {
    console.error(e);
    return [h("h1", { id: "title", tabindex: "-1" }, p.title), faultView({ code: "internal", message: "the console cannot show this page", cause: String(e?.message || e), hint: "reload it; the command line shows the same" })];
  }
}

function sidebar(): Child {
  return h("nav", { class: "side", "aria-label": "Console" },
    link("/jobs", { class: "brand", "aria-label": "Jobgraph" }, h("span", { class: "mark", "aria-hidden": "true" }, h("i", null), h("i", null), h("i", null)), h("span", { class: "brand-text" }, "Jobgraph")),
    h("div", { class: "places" }, places.map((p) => link(p.to, { class: "place", "aria-current": path === p.to || path.startsWith(p.to + "/") ? "page" : null },
      icon(p.icon), h("span", null, p.text),
      p.to === "/inbox" && open ? h("span", { class: "badge", "aria-label": `${open} open` }, open) : null))),
    h("div", { class: "side-foot" },
      h("button", { class: "plain", onclick: turn, "aria-label": `Theme: ${theme()}. Change it` }, icon("theme"), theme() === "dark" ? "Dark" : theme() === "light" ? "Light" : "System"),
      api.me ? h("div", { class: "muted small-text", title: api.me.roles.join(", ") }, api.me.name, h("br", null), api.me.version) : null));
}

function banner(): Child {
  return api.link === "lost" ? h("div", { class: "banner", role: "status" }, h("strong", null, "No connection. "), `${api.reason}; the page goes on where it was when it is back.`) : null;
}

function missing(): Child {
  return h("div", { class: "page" }, h("h1", { id: "title", tabindex: "-1" }, "Nothing is here"), h("p", null, "This address leads to no page. ", link("/jobs", null, "All jobs")));
}

function toasts(): Child {
  return h("div", { class: "toasts" }, notices.map((n) => h("div", { key: n.id, class: `toast ${n.kind}`, role: n.kind === "bad" ? "alert" : "status" },
    h("div", null, n.text, n.hint ? h("div", { class: "hint" }, n.hint) : null, n.link ? h("div", null, link(n.link.to, null, n.link.text)) : null),
    h("button", { class: "plain", "aria-label": "Close the notice", onclick: () => dismiss(n.id) }, "×"))));
}

function theme(): string {
  return document.documentElement.dataset.theme || "";
}

function turn() {
  const next = { "": "dark", dark: "light", light: "" }[theme()] ?? "";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("theme", next);
  } catch { /* A browser may keep nothing. */ }
  document.dispatchEvent(new Event("themechange"));
  changed();
}

function keys(e: KeyboardEvent) {
  const at = e.target as HTMLElement;
  const typing = at.closest("input, textarea, select, [contenteditable]");
  if (e.ctrlKey || e.metaKey || e.altKey || (typing && e.key !== "Escape")) return;
  if (page?.key?.(e)) e.preventDefault();
}

async function questions() {
  if (document.hidden || api.link === "expired") return;
  try {
    const { inputs } = await api.get<{ inputs: Question[] }>("/inputs");
    const now = inputs.filter((i) => i.kind !== "timer").length;
    if (open !== now) {
      open = now;
      changed();
    }
  } catch { /* The banner says so. */ }
}

async function who() {
  try {
    api.me = await api.get<Me>("/me");
  } catch (e) {
    if (e instanceof Refusal && e.status === 404) api.me = null; // A gateway of an earlier release, which decides by itself.
  }
  changed();
}

function start() {
  try {
    document.documentElement.dataset.theme = localStorage.getItem("theme") || "";
  } catch { /* The system's. */ }
  const at = new URL(location.href);
  if (at.searchParams.has("token")) { // The gateway removes a valid token from the address, so this one was invalid.
    denied = true;
    at.searchParams.delete("token");
    history.replaceState(null, "", at);
  }
  register();
  onRedraw(draw);
  api.on(changed);
  addEventListener("hashchange", route);
  addEventListener("keydown", keys);
  document.addEventListener("visibilitychange", questions);
  document.addEventListener("answered", questions);
  setInterval(questions, 5000);
  setInterval(() => document.hidden || changed(), 1000); // To update elapsed times.
  route();
  who().then(questions);
}

start();
