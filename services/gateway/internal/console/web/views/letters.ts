// What no service could handle: dead letters, and jobs in quarantine.

import { api, Loader, Refusal, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { ago, clock, oneLine, pretty, quote } from "../core/format";
import { changed, copyable, empty, faultView, head, link, notify, Page } from "../core/page";
import type { Fault } from "../core/types";

interface Letter { id: string; kind: string; since: string; fault: Fault; faults?: Fault[]; subject?: string; body?: any; }

export function lettersPage(): Page {
  const list = new Loader<{ letters: Letter[] }>(() => "/dlq", changed, 500);
  list.refresh();
  const timer = setInterval(() => document.hidden || list.refresh(), 4000);
  let sure = "";
  const open = new Map<string, Letter | null>();
  const toggle = (l: Letter) => {
    if (open.delete(l.id)) return changed();
    open.set(l.id, null);
    api.get<Letter>(`/dlq/${seg(l.id)}`).then((got) => (open.set(l.id, got), changed()), (e) => notify(e.message, "bad"));
    changed();
  };
  const retry = async (l: Letter) => {
    try {
      const got = await api.send<{ job_id: string }>("POST", `/dlq/${seg(l.id)}/retry`, {});
      notify(`${l.id} is tried again`, "good", got.job_id ? { link: { to: `/jobs/${seg(got.job_id)}`, text: `Job ${got.job_id}` } } : {});
      list.refresh();
    } catch (e: any) {
      notify(e.message, "bad", { hint: e instanceof Refusal ? e.fault.hint : "" });
    }
  };
  const remove = async (l: Letter) => {
    if (sure !== l.id) {
      sure = l.id;
      return changed();
    }
    sure = "";
    try {
      await api.send("DELETE", `/jobs/${seg(l.id)}`);
      notify(`job ${l.id} is deleted`);
      list.refresh();
    } catch (e: any) {
      notify(e.message, "bad", { hint: e instanceof Refusal ? e.fault.hint : "" });
    }
  };
  const buttons = (l: Letter): Child => [
    api.may("dlq.retry") && l.kind !== "fact" ? h("button", { class: "small", onclick: () => retry(l) }, "Try again") : null, // A fact without a valid signature will never count.
    l.kind === "job" ? link(`/jobs/${seg(l.id)}`, { class: "button small" }, "The job") : null,
    l.kind === "job" && api.may("delete") ? h("button", { class: `small ${sure === l.id ? "danger" : ""}`, onclick: () => remove(l) }, sure === l.id ? "Delete for good" : "Delete") : null,
  ];
  const twins = (l: Letter): Child => ["show", "retry"].filter((verb) => verb === "show" || l.kind !== "fact").map((verb) => `dlq ${verb} ${quote(l.id)}`).concat(l.kind === "job" ? `delete ${quote(l.id)} --force` : []).map((c) => copyable(`jobgraph ${c}`, "CLI"));
  const view = (): Child => {
    const all = list.load.value?.letters || [];
    return [
      head("Set aside", list.load.value ? h("span", { class: "muted" }, "dead letters and jobs in quarantine") : null),
      list.load.fault && !list.load.value ? faultView(list.load.fault, list.refresh) : null,
      list.load.value && !all.length ? empty("Nothing was set aside.", h("p", { class: "muted" }, "Requests and work that no service could handle would be here, with the reason.")) : null,
      h("ul", { class: "cards" }, [...all].reverse().map((l) => h("li", { key: l.id, class: "card", "data-letter": l.id },
        h("div", { class: "card-head" }, h("span", { class: "kind-chip" }, l.kind === "job" ? "job in quarantine" : l.kind), h("button", { class: "linklike title mono", "aria-expanded": String(open.has(l.id)), onclick: () => toggle(l) }, oneLine(l.id)), h("span", { class: "grow" }), h("span", { class: "muted", title: clock(l.since) }, ago(l.since))),
        faultView(l.fault),
        h("div", { class: "row" }, buttons(l)),
        open.get(l.id) ? h("div", null, l.subject ? h("p", { class: "mono" }, l.subject) : null, open.get(l.id)!.body === undefined ? null : h("pre", null, pretty(open.get(l.id)!.body).slice(0, 64 << 10)), twins(l)) : null))),
    ];
  };
  return { title: "Set aside", view, close: () => (clearInterval(timer), list.close()) };
}
