// The inbox: what waits for a person. Questions with options, forms, approvals with their exact arguments, reviews of plans, and
// when they expire.

import { api, Loader, Refusal, seg } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { clock, oneLine, span, visible } from "../core/format";
import { changed, copyable, empty, faultView, head, link, notify, Page } from "../core/page";
import { rendered, spoken } from "../core/render";
import { Field, fieldsOf, valuesOf } from "../core/schema";
import { cliOf, natsOf } from "../core/twin";
import type { Fault, Question } from "../core/types";
import { formView } from "./form";
import { Picture } from "./picture";

export function inboxPage(q: URLSearchParams): Page {
  const inputs = new Loader<{ inputs: Question[] }>(() => "/inputs", changed, 500);
  inputs.refresh();
  const timer = setInterval(() => document.hidden || inputs.refresh(), 2000);
  const drafts = new Map<string, Draft>();
  const done = () => inputs.refresh();

  const view = (): Child => {
    const job = q.get("job");
    const list = (inputs.load.value?.inputs || []).filter((i) => (!job || i.job_id === job) && i.kind !== "timer");
    const known = new Set(list.map((i) => `${i.job_id}/${i.request}`));
    // If someone else has answered meanwhile, a notice says so, instead of silently removing a half-written answer.
    for (const [key, d] of drafts) {
      if (known.has(key) || d.sent || !inputs.load.value) continue;
      if (d.touched && !d.gone) notify(`${d.q.subjob} of ${d.q.job_id} was answered or has expired meanwhile`, "bad");
      d.gone = true;
    }
    return [
      head("Inbox", job ? [h("span", { class: "muted" }, "of job "), link(`/jobs/${seg(job)}`, { class: "mono" }, job), link("/inbox", { class: "button small" }, "All questions")] : null),
      inputs.load.fault && !inputs.load.value ? faultView(inputs.load.fault, inputs.refresh) : null,
      !inputs.load.value && !inputs.load.fault ? h("div", { class: "loading" }, "Reading questions …") : null,
      inputs.load.value && !list.length ? empty("Nothing waits for you.", h("p", { class: "muted" }, "Questions, approvals and plans to review appear here while jobs run.")) : null,
      h("div", { class: "cards" }, list.map((i) => {
        const key = `${i.job_id}/${i.request}`;
        let d = drafts.get(key);
        if (!d) drafts.set(key, (d = new Draft(i, done)));
        d.q = i;
        return d.view();
      })),
    ];
  };
  return {
    title: "Inbox", view,
    moved(next) {
      q = next;
      changed();
    },
    close() {
      clearInterval(timer);
      inputs.close();
    },
  };
}

/** Draft is an answer that is being written. */
export class Draft {
  entered: Record<string, unknown> = {};
  faults: Record<string, string> = {};
  fault: Fault | null = null;
  text = "";
  touched = false;
  sent = false;
  gone = false;
  private busy = false;
  private fields: Field[] | null;
  private args: any;
  private plan: unknown;
  private picture = new Picture();

  constructor(public q: Question, private done: () => void) {
    this.fields = q.kind === "form" ? fieldsOf(q.schema) : null;
    this.plan = q.kind === "review" ? planOf(q.schema) : undefined;
    this.args = q.kind === "approval" ? q.args ?? argsOf(q.prompt || "") : undefined;
    if (this.args !== undefined) this.entered.args = visible(this.args);
  }

  view(): VNode {
    const q = this.q;
    const left = q.expires ? Date.parse(q.expires) - Date.now() : Infinity;
    return h("article", { class: `card question k-${q.kind}`, "data-request": q.request, "data-job": q.job_id, key: `${q.job_id}/${q.request}`, "aria-label": `${q.kind} of ${q.subjob}`, oninput: () => (this.touched = true) },
      h("header", { class: "card-head" },
        h("span", { class: `kind-chip k-${q.kind}` }, q.kind === "unknown" ? "unknown outcome" : q.kind),
        link(`/jobs/${seg(q.job_id)}?step=${seg(q.subjob)}`, { class: "title" }, oneLine(q.subjob)), h("span", { class: "muted mono" }, oneLine(q.job_id)),
        h("span", { class: "grow" }), q.user ? h("span", { class: "muted" }, `for ${oneLine(q.user)}`) : null,
        q.expires ? h("span", { class: left < 600e3 ? "bad-text num" : "muted num", title: clock(q.expires) }, left > 0 ? `expires in ${span(left)}` : "expired") : null),
      this.words(),
      this.approvalArgs(),
      this.plan ? this.picture.view(this.plan) : null,
      this.answerForm(),
      this.fault ? faultView(this.fault) : null,
      this.twins());
  }

  /** words shows the question. The text of an approval stays unchanged, character by character: markup could hide a part of it. */
  private words(): Child {
    const text = this.q.prompt || "";
    if (this.q.kind !== "approval" && this.q.kind !== "unknown") return h("div", { class: "prompt" }, spoken(text));
    return h("div", { class: "prompt plain" }, this.args === undefined ? text : text.slice(0, text.indexOf(" with {")) + " with these arguments?" + text.slice(endOfArgs(text)));
  }

  private approvalArgs(): Child {
    if (this.args === undefined) return null;
    const now = String(this.entered.args);
    const edited = now !== visible(this.args);
    return h("details", { open: true, class: "args" }, h("summary", null, "Exact arguments"),
      h("textarea", { class: "mono", rows: String(Math.min(14, now.split("\n").length + 1)), "aria-label": "Arguments of the call, which can be changed", spellcheck: "false", value: now, oninput: (e: any) => ((this.entered.args = e.target.value), changed()) }),
      edited ? [h("p", { class: "muted" }, "Your change:"), rendered({ kind: "diff", before: visible(this.args), after: now })] : null);
  }

  private answerForm(): Child {
    const q = this.q;
    const send = (make: () => unknown) => (e: Event) => {
      e.preventDefault();
      this.send(make);
    };
    if (this.fields) {
      const submit = send(() => {
        const { value, faults } = valuesOf(this.fields!, this.entered);
        this.faults = faults;
        return value;
      });
      return h("form", { onsubmit: submit, novalidate: true }, formView(`q-${q.request}`, this.fields, this.entered, this.faults), this.buttons("Answer"));
    }
    const choices = q.options || [];
    if (q.kind === "approval" || q.kind === "review") return this.verdict(choices);
    const free = !choices.length || q.open || q.kind === "unknown";
    const json = q.kind === "form";
    return h("form", { onsubmit: send(() => (json ? this.json() : this.text.trim() ? this.text : undefined)) },
      choices.length ? h("div", { class: "row", role: "group", "aria-label": "Answers" }, choices.map((o) => h("button", { type: "button", "data-answer": o, onclick: () => this.send(() => o) }, oneLine(o)))) : null,
      free ? h("textarea", { rows: "3", class: json ? "mono" : "", "aria-label": "Your answer", placeholder: json ? "JSON" : "Your answer", value: this.text, oninput: (e: any) => ((this.text = e.target.value), changed()) }) : null,
      free ? this.buttons("Answer", !this.text.trim()) : h("div", { class: "row" }, this.cancel()));
  }

  private json(): unknown {
    try {
      return JSON.parse(this.text);
    } catch (e: any) {
      this.fault = { code: "malformed", message: `the answer is not JSON: ${e.message}`, hint: "the schema is below the question" };
      return undefined;
    }
  }

  /** verdict shows the buttons of an approval or a review; the text explains a rejection, or says what is wanted instead. */
  private verdict(choices: string[]): Child {
    const review = this.q.kind === "review" || choices.includes("accept");
    const words = this.text.trim();
    const yes = () => (review ? { action: "accept" } : { approved: true, ...(words ? { reason: words } : {}), ...this.changedArgs() });
    const no = () => (review ? { action: "reject", ...(words ? { text: words } : {}) } : { approved: false, ...(words ? { reason: words } : {}) });
    return h("div", { class: "verdict" },
      h("textarea", { rows: "2", "aria-label": review ? "What is wanted otherwise" : "Reason", placeholder: review ? "What is wanted otherwise, or why not" : "Reason, told to the expert", value: this.text, oninput: (e: any) => ((this.text = e.target.value), changed()) }),
      h("div", { class: "row" },
        h("button", { class: "primary", "data-answer": review ? "accept" : "approve", disabled: this.busy || !api.may("answer"), onclick: () => this.send(yes) }, review ? "Accept" : "Approve"),
        review && choices.includes("edit") ? h("button", { "data-answer": "edit", disabled: this.busy || !words, onclick: () => this.send(() => ({ action: "edit", text: words })) }, "Ask for changes") : null,
        h("button", { class: "danger", "data-answer": "reject", disabled: this.busy || !api.may("answer"), onclick: () => this.send(no) }, "Reject"), h("span", { class: "grow" }), this.cancel()));
  }

  private changedArgs(): Record<string, unknown> {
    if (this.args === undefined) return {};
    const now = JSON.parse(String(this.entered.args));
    return JSON.stringify(now) === JSON.stringify(this.args) ? {} : { args: now };
  }

  private buttons(textOf: string, off = false): VNode {
    return h("div", { class: "row" }, h("button", { type: "submit", "data-answer": "submit", class: "primary", disabled: this.busy || off || !api.may("answer") }, this.busy ? "Sending …" : textOf), h("span", { class: "grow" }), this.cancel());
  }

  private cancel(): VNode {
    return h("button", { type: "button", "data-answer": "cancel", class: "small", disabled: this.busy, title: "Closes the question without an answer", onclick: () => this.send(() => undefined, "cancelled") }, "Close without an answer");
  }

  private async send(make: () => unknown, action = "") {
    if (this.busy) return;
    this.fault = null;
    let answer: unknown;
    try {
      answer = make();
    } catch (e: any) {
      this.fault = { code: "malformed", message: `the arguments are not JSON: ${e.message}` };
      return changed();
    }
    if (answer === undefined && !action) return changed();
    this.busy = true;
    changed();
    try {
      await api.send("POST", `/jobs/${seg(this.q.job_id)}/inputs/${seg(this.q.request)}`, action ? { action } : { answer });
      this.sent = true;
      notify(action ? `${this.q.subjob}: closed without an answer` : `${this.q.subjob}: answered`);
      this.done();
      document.dispatchEvent(new Event("answered"));
    } catch (e: any) {
      this.fault = e instanceof Refusal ? e.fault : { code: "internal", message: String(e) };
      if (e instanceof Refusal && (e.status === 409 || e.status === 404)) this.done();
    } finally {
      this.busy = false;
      changed();
    }
  }

  private twins(): VNode {
    const input: Record<string, unknown> = { request: this.q.request };
    if (this.fields) input.answer = valuesOf(this.fields, this.entered).value ?? {};
    else if (this.q.kind === "approval" && !this.q.options?.includes("accept")) input.answer = { approved: true };
    else input.answer = this.text || this.q.options?.[0] || "…";
    return h("details", { class: "twins" }, h("summary", null, "The same from a terminal"), copyable(cliOf("answer", this.q.job_id, input), "CLI"), copyable(natsOf("answer", this.q.job_id, input), "NATS"),
      this.q.schema ? [h("p", { class: "muted" }, "Form of the answer"), rendered({ kind: "json", text: JSON.stringify(this.q.schema, null, 2) })] : null);
  }
}

/** planOf returns the plan under review: the form of the answer has it as the example of a plan. */
export function planOf(schema: any): unknown {
  for (const form of schema?.anyOf || []) for (const e of form.examples || []) if (Array.isArray(e?.subjobs)) return e;
  return undefined;
}

/** argsOf returns the arguments in the question of an approval: the first JSON object of its text. */
export function argsOf(prompt: string): any {
  const end = endOfArgs(prompt);
  if (end < 0) return undefined;
  try {
    return JSON.parse(prompt.slice(prompt.indexOf(" with {") + 6, end).replace(/\?$/, ""));
  } catch {
    return undefined;
  }
}

/** endOfArgs returns where the text continues after the arguments and the question mark; -1 if there are none. */
function endOfArgs(prompt: string): number {
  const from = prompt.indexOf(" with {");
  let depth = 0, quoted = false;
  for (let i = from + 6; from >= 0 && i < prompt.length; i++) {
    const c = prompt[i];
    if (quoted) {
      if (c === "\\") i++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return prompt[i + 1] === "?" ? i + 2 : i + 1;
  }
  return -1;
}
