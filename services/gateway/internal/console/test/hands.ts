import { api } from "../web/core/api";
import { patch } from "../web/core/dom";
import { address, go, onRedraw, query } from "../web/core/page";
import { JobStore } from "../web/core/store";
import { ActionPanel } from "../web/views/actions";
import { slider } from "../web/views/slider";
import { gateway, json, rule, same, until } from "./kit";
import { job } from "./past";
import type { Child } from "../web/core/dom";

/** shown draws a view whenever something has changed, until it is closed. */
function shown(view: () => Child) {
  const root = document.body.appendChild(document.createElement("div"));
  const draw = () => patch(root, [view()]);
  onRedraw(draw);
  draw();
  return {
    one: <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)!,
    close() {
      onRedraw(() => {});
      root.remove();
    },
  };
}

/** old is a store of a past job, on a test's server. */
function old() {
  api.set("ok");
  gateway(() => json({}));
  const store = new JobStore("j", () => {}, () => {});
  store.fill(job(), []);
  return store;
}

rule("a form takes the focus when it is drawn, and never from a field", async () => {
  const store = old();
  Object.defineProperty(store, "offline", { value: false });
  const late: (() => void)[] = [];
  const pass = () => late.splice(0).forEach((f) => f());
  const real = window.setTimeout;
  window.setTimeout = ((f: () => void) => late.push(f)) as any;
  const panel = new ActionPanel(store, "a");
  const page = shown(() => panel.view(store.frame!, store.node("a")));
  try {
    page.one("[data-action=fork]").click();
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    same(document.activeElement!.id, "act-new_id");
    page.one("#act-prompt").focus();
    pass();
    same(document.activeElement!.id, "act-prompt");
  } finally {
    window.setTimeout = real;
    pass(); // Let other tests continue their waits.
    page.close();
  }
});

rule("a slider that was moved before its places were known goes there at once, without a look at the end", async () => {
  const store = old();
  const timeline = store.timeline!;
  let known: typeof timeline | undefined;
  Object.defineProperties(store, { timeline: { get: () => known }, offline: { value: false } });
  store.at = 0;
  go("/jobs/j", true);
  const moved = () => store.wind(Number(new URLSearchParams(address().split("?")[1]).get("at")));
  addEventListener("hashchange", moved);
  const page = shown(() => slider(store));
  const at = () => page.one<HTMLInputElement>("#slider");
  try {
    at().value = "500";
    at().dispatchEvent(new Event("input"));
    known = timeline;
    patch(at().closest("div")!.parentElement!, [slider(store)]);
    same([at().value, at().getAttribute("aria-valuetext")], ["4", "event 5 of 9: graph.replaced"]);
    await until(() => store.at);
    same([store.at, address()], [50, "/jobs/j?at=50"]);
  } finally {
    removeEventListener("hashchange", moved);
    page.close();
  }
});

rule("a person may move through the past as fast as they like, and the address follows", async () => {
  let at = "";
  const moved = () => (at = address());
  addEventListener("hashchange", moved);
  try {
    for (let i = 1; i <= 500; i++) go(`/jobs/j?at=${i}`, true);
    same(at, "/jobs/j?at=500");
    await until(() => location.hash === "#/jobs/j?at=500");
    go("/jobs/j?at=501", true);
    query({ at: null }, true);
    same(at, "/jobs/j");
    await until(() => location.hash === "#/jobs/j");
  } finally {
    removeEventListener("hashchange", moved);
  }
});
