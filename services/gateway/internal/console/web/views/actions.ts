// The actions on a job or a step: the buttons, the form of each action, and its commands for a terminal.

import { api, Refusal, seg } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { oneLine } from "../core/format";
import { changed, copyable, faultView, go, notify } from "../core/page";
import { rendered } from "../core/render";
import { Field, valuesOf } from "../core/schema";
import { isOver } from "../core/status";
import type { JobStore } from "../core/store";
import { cliOf, natsOf } from "../core/twin";
import type { Action, Fault, Graph, Node } from "../core/types";
import { formView } from "./form";
import { Picture } from "./picture";

interface Deed { verb: string; text: string; about: string; fields: Field[]; danger?: boolean; }

const text = (name: string, label: string, about = "", more: Partial<Field> = {}): Field => ({ name, label, about, type: "text", required: false, ...more });
const reason = text("reason", "Reason", "For people; it is kept in the state.");
const newID = text("new_id", "Id of the new job", "Made if empty.");

const deeds: Record<string, Deed> = {
  stop: { verb: "stop", text: "Stop", about: "Stops the whole job: running work is cancelled, finished work is kept, and Recover goes on from there.", fields: [reason], danger: true },
  stopStep: { verb: "stop", text: "Stop step", about: "Stops this step, and with it the job unless only this step and what depends on it is meant.", fields: [text("only", "This step and what depends on it alone", "The rest of the job goes on.", { type: "flag", initial: true }), reason], danger: true },
  fail: { verb: "fail", text: "Declare failed", about: "For work that will never report.", fields: [reason], danger: true },
  recover: { verb: "recover", text: "Recover", about: "Continues the job; finished work is kept.", fields: [text("from", "Run again from", "Id of a finished step, which runs again with everything after it; empty keeps all.")] },
  retry: { verb: "retry", text: "Retry", about: "Runs this step again; its lessons go with it.", fields: [] },
  rerun: {
    verb: "rerun", text: "Rerun", about: "Runs this step again with what you change, and everything that depends on it. What stays as it is is not sent.",
    fields: [text("goal", "Goal", "", { type: "long" }), text("context", "Context", "", { type: "long" }), text("completion_criteria", "Done when", "", { type: "long" }), text("expert", "Expert", "Id or name."), text("timeout", "Limit of one run", "Such as 10m.")],
  },
  edit: { verb: "edit", text: "Edit plan", about: "Replaces the unfinished part of the plan. Finished steps that the new plan contains keep their results.", fields: [text("plan", "Plan", "The whole new plan as JSON.", { type: "json", required: true, rows: 16 })] },
  fork: { verb: "fork", text: "Fork from here", about: "Starts a new job from this one as it stood at the event shown: what was finished is kept and not paid again.", fields: [newID, text("before", "Run again from", "Id of a step, which runs again with everything after it; empty keeps all results.")] },
  forkStep: {
    verb: "fork", text: "Fork from here", about: "Starts a new job in which this step runs again, with everything after it. Everything else that was finished is kept and not paid again.",
    fields: [newID, text("model", "Model", "Of all experts that run."), text("expert", "Expert", "Who does this step."), text("prompt", "Prompt", "The goal of this step.", { type: "long" }), text("result", "Result", "As JSON, in place of running the step.", { type: "json" })],
  },
  delete: { verb: "delete", text: "Delete", about: "Removes everything of this job for good.", fields: [text("confirm", "Type the id of the job", "", { required: true })], danger: true },
};

/** jobDeeds lists the actions that make sense in the present state of a job. */
function jobDeeds(g: Graph): string[] {
  if (!isOver(g.status)) return ["stop", "edit", "fork", "fail"];
  return g.status === "FINISHED" ? ["fork", "recover", "delete"] : ["recover", "fork", "edit", "delete"];
}

function stepDeeds(g: Graph, n: Node): string[] {
  const list: string[] = [];
  const real = !n.id.startsWith("~");
  if (n.state === "failed" || n.state === "stopped") list.push("retry");
  if (real && ["finished", "failed", "stopped"].includes(n.state)) list.push("rerun");
  if (real && n.state !== "replaced") list.push("forkStep");
  if (!isOver(g.status) && ["running", "ready", "waiting", "planned"].includes(n.state)) list.push("stopStep");
  if (n.state === "running" || n.state === "waiting") list.push("fail");
  return list;
}

/** Act is an open form of an action. */
class Act {
  entered: Record<string, unknown> = {};
  faults: Record<string, string> = {};
  fault: Fault | null = null;
  busy = false;
  before: Record<string, unknown> = {};
  loading = false;
  private picture = new Picture();

  constructor(public store: JobStore, public deed: Deed, public step: string, private close: () => void) {
    if (deed.verb === "rerun") this.prefill(`/jobs/${seg(store.id)}/subjobs/${seg(step)}`, (got) => (this.before = { ...got.spec }));
    if (deed.verb === "edit") this.prefill(`/jobs/${seg(store.id)}/plan`, (got) => (this.before = { plan: JSON.stringify(bare(got.plan), null, 2) }));
  }

  private prefill(path: string, take: (got: any) => void) {
    this.loading = true;
    api.get<any>(path).then((got) => {
      take(got);
      for (const f of this.deed.fields) if (this.before[f.name] !== undefined) this.entered[f.name] = String(this.before[f.name]);
    }, (e) => (this.fault = e.fault || null)).finally(() => {
      this.loading = false;
      focusForm();
    });
  }

  /** input is the body of the request as entered so far. */
  input(): { input: Record<string, any>; faults: Record<string, string> } {
    const { value, faults } = valuesOf(this.deed.fields, this.entered);
    const v: Record<string, any> = value || {};
    const step = this.step ? { subjob: this.step } : {};
    switch (this.deed.verb) {
      case "rerun": {
        const edit: Record<string, any> = {};
        for (const k in v) if (v[k] !== (this.before[k] ?? "")) edit[k] = v[k];
        return { input: { ...step, ...(Object.keys(edit).length ? { edit } : {}) }, faults };
      }
      case "edit": return { input: { plan_version: this.store.frame?.plan_version || 1, ...v }, faults };
      case "fork": {
        const before: Record<string, any> = this.step ? { before: this.step } : {};
        return { input: { ...(this.store.at ? { at: this.store.at } : {}), ...before, ...v }, faults };
      }
      case "delete": return { input: {}, faults: v.confirm === this.store.id ? faults : { confirm: "is not the id of this job" } };
    }
    if (v.only === false) delete v.only;
    return { input: { ...step, ...v }, faults };
  }

  async send(e: Event) {
    e.preventDefault();
    const { input, faults } = this.input();
    this.faults = faults;
    if (Object.keys(faults).length || this.busy) return changed();
    this.busy = true;
    this.fault = null;
    changed();
    const id = this.store.id;
    try {
      const verb = this.deed.verb;
      const path = `/jobs/${seg(id)}`;
      const got = verb === "delete" ? await api.send<any>("DELETE", path) : await api.send<any>("POST", `${path}/${verb}`, verb === "stop" ? { ...input, wait: false } : input);
      this.close();
      if (verb === "fork") {
        notify(`job ${got.job_id} begins at event ${got.at}: ${got.kept} of ${got.total} results are kept`, "good", { link: { to: `/compare/${seg(id)}/${seg(got.job_id)}`, text: "Compare the two" } });
        return go(`/jobs/${seg(got.job_id)}`);
      }
      notify(`${this.deed.text}: ${this.step || id}`);
      if (verb === "delete") go("/jobs");
      else this.store.graph?.refresh();
    } catch (e: any) {
      this.fault = e instanceof Refusal ? e.fault : { code: "internal", message: String(e) };
    } finally {
      this.busy = false;
      changed();
    }
  }

  view(): VNode {
    const { input } = this.input();
    const id = this.store.id;
    const nats = natsOf(this.deed.verb, id, input);
    return h("form", { class: "act", "data-verb": this.deed.verb, key: `act-${this.deed.text}`, onsubmit: (e: Event) => this.send(e), "aria-label": this.deed.text },
      h("h3", null, this.deed.text, this.step ? `: ${oneLine(this.step)}` : "", this.deed.verb === "fork" && this.store.at ? `, at event ${this.store.at}` : ""),
      h("p", { class: "muted" }, this.deed.about),
      this.loading ? h("div", { class: "loading" }, "Reading …") : formView("act", this.deed.fields, this.entered, this.faults),
      this.deed.verb === "edit" && !this.loading ? this.planDiff() : null,
      this.deed.verb === "rerun" && input.edit?.goal ? rendered({ kind: "diff", before: this.before.goal, after: input.edit.goal }) : null,
      this.fault ? faultView(this.fault) : null,
      h("div", { class: "row" }, h("button", { type: "submit", class: this.deed.danger ? "danger" : "primary", disabled: this.busy || this.loading }, this.busy ? "Sending …" : this.deed.text), h("button", { type: "button", onclick: () => this.close() }, "Cancel")),
      h("details", { class: "twins" }, h("summary", null, "The same from a terminal"),
        copyable(cliOf(this.deed.verb, id, input), "CLI"), nats ? copyable(nats, "NATS") : h("p", { class: "muted" }, "On the bus a fork is not one request: the gateway copies what is kept.")));
  }

  private planDiff(): Child {
    const now = String(this.entered.plan ?? "");
    if (now === this.before.plan) return null;
    let plan: unknown;
    try {
      plan = JSON.parse(now);
    } catch {
      return null;
    }
    return [h("h4", null, "What changes"), rendered({ kind: "diff", before: this.before.plan, after: now }), this.picture.view(plan)];
  }
}

/** bare removes from a plan what its execution has added. */
function bare(plan: any): any {
  return { ...plan, subjobs: (plan?.subjobs || []).map(({ execution_res, execution_ref, artifacts, expert_name, pool, pure, ...s }: any) => s) };
}

/** Menu is the row of actions of a job, with the form that is open. */
export class Menu {
  private act: Act | null = null;

  constructor(private store: JobStore) {}

  get isOpen(): boolean {
    return this.act !== null;
  }

  close() {
    this.act = null;
    changed();
  }

  bar(g: Graph): Child {
    const list = (this.store.at ? ["fork"] : jobDeeds(g)).filter((d) => api.may(deeds[d].verb, g.user)); // In the past only a fork is possible.
    const open = (d: string) => {
      this.act = new Act(this.store, deeds[d], "", () => this.close());
      focusForm();
    };
    const button = (d: string) => h("button", { key: d, "data-action": deeds[d].verb, onclick: () => open(d) }, deeds[d].text);
    const save = h("a", { class: "button", href: `/api/v1/jobs/${seg(this.store.id)}/export`, download: "" }, "Export");
    return [
      list.slice(0, 1).map(button),
      h("span", { class: "wide-only row-tight" }, list.slice(1).map(button), save),
      h("details", { class: "narrow-only more" }, h("summary", { class: "button", "aria-label": "More actions" }, "⋯"), h("div", { class: "more-list" }, list.slice(1).map(button), save)),
    ];
  }

  view(): Child {
    // A native dialog keeps the focus inside and handles Escape.
    return this.act ? h("dialog", { class: `modal-box ${this.act.deed.verb === "edit" ? "broad" : ""}`, key: "modal", "aria-label": this.act.deed.text, oncancel: () => this.close(), ref: (el: any) => queueMicrotask(() => el.isConnected && el.showModal()) }, this.act.view()) : null;
  }
}

/** ActionPanel is the same for a step, inside its drawer. */
export class ActionPanel {
  private act: Act | null = null;

  constructor(private store: JobStore, private step: string) {}

  /** view shows the buttons or the open form; known are the actions that the server considers possible. */
  view(g: Graph, n: Node | undefined, known: Action[] = []): Child {
    if (this.store.offline || !n) return null;
    const close = () => {
      this.act = null;
      changed();
    };
    if (this.act) return this.act.view();
    const list = this.store.at ? (n.id.startsWith("~") ? [] : ["forkStep"]) : stepDeeds(g, n);
    const refused = (d: string) => (this.store.at ? undefined : known.find((a) => a.verb === deeds[d].verb && !a.possible)?.reason);
    return h("div", { class: "row actions" }, list.filter((d) => api.may(deeds[d].verb, g.user)).map((d) => h("button", { key: d, "data-action": deeds[d].verb, class: "small", disabled: !!refused(d), title: refused(d), onclick: () => {
      this.act = new Act(this.store, deeds[d], this.step, close);
      focusForm();
    } }, deeds[d].text)));
  }
}

/** focusForm draws the form and focuses it before anything else can happen. A field that has the focus keeps it. */
function focusForm() {
  changed();
  requestAnimationFrame(() => {
    if (!document.activeElement?.matches("input, textarea, select")) (document.querySelector(".act input, .act textarea, .act button") as HTMLElement | null)?.focus();
  });
}
