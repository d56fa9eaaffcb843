// A new job: a goal, or a plan that is shown before it runs.

import { api, Refusal, seg } from "../core/api";
import { Child, h } from "../core/dom";
import { quote } from "../core/format";
import { changed, copyable, faultView, go, head, notify, Page } from "../core/page";
import { Picture } from "./picture";
import type { Fault } from "../core/types";

interface Card { id: string; name: string; description?: string; hidden?: boolean; disabled?: boolean; }

export function submitPage(q: URLSearchParams): Page {
  const v: Record<string, any> = { goal: q.get("goal") || "", id: "", expert: "", session: q.get("session") || "", context: "", labels: "", model: "", tokens: "", cost: "", plan: "", review: false };
  let faults: Fault[] = [];
  let busy = false;
  const picture = new Picture();
  let experts: Card[] = [];
  const key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2); // The same request, sent twice, makes one job.
  api.get<{ experts: Card[] }>("/experts").then((e) => ((experts = e.experts), changed()), () => {});

  const request = (): { body: Record<string, any>; plan?: any; wrong?: string } => {
    const body: Record<string, any> = {};
    let plan: any;
    for (const name of ["goal", "id", "expert", "session", "context"]) if (v[name].trim()) body[name] = v[name].trim();
    if (v.plan.trim()) {
      try {
        plan = JSON.parse(v.plan);
      } catch (e: any) {
        return { body, wrong: `the plan is not JSON: ${e.message}` };
      }
      body.plan = plan;
    }
    if (v.model.trim()) body.models = { expert: v.model.trim(), planner: v.model.trim() };
    const labels = Object.fromEntries(v.labels.split(/[\s,]+/).filter(Boolean).map((l: string) => l.split(/=(.*)/s).slice(0, 2)));
    if (Object.keys(labels).length) body.labels = labels;
    const limits: Record<string, number> = {};
    if (v.tokens) limits.tokens = Number(v.tokens);
    if (v.cost) limits.cost_usd = Number(v.cost);
    if (Object.keys(limits).length) body.limits = limits;
    if (v.review) body.auto_accept = false;
    return { body, plan };
  };

  const send = async (e: Event) => {
    e.preventDefault();
    const { body, wrong } = request();
    if (wrong) {
      faults = [{ code: "malformed", message: wrong }];
      return changed();
    }
    busy = true;
    changed();
    try {
      const got = await api.send<{ job_id: string; answered?: string }>("POST", "/jobs", body, body.id ? {} : { "Idempotency-Key": key }); // A request with an id is repeatable without the key.
      notify(got.answered ? `this answered the open question ${got.answered}` : "the job is submitted");
      go(`/jobs/${seg(got.job_id)}`);
    } catch (e: any) {
      faults = e instanceof Refusal ? (e.faults.length ? e.faults : [e.fault]) : [{ code: "internal", message: String(e) }];
    } finally {
      busy = false;
      changed();
    }
  };

  const input = (name: string, label: string, about = "", props: Record<string, any> = {}): Child => h("div", { class: "field", key: name }, h("label", { for: `new-${name}` }, label),
    h(props.rows ? "textarea" : "input", { id: `new-${name}`, value: v[name], oninput: (e: any) => ((v[name] = e.target.value), (faults = []), changed()), ...props }), about ? h("div", { class: "muted small-text" }, about) : null);

  const view = (): Child => {
    const { body, plan } = request();
    return [
      head("New job"),
      h("form", { class: "submit", onsubmit: send },
        input("goal", "Goal", "", { rows: "4", placeholder: "What is wanted", autofocus: true }),
        h("div", { class: "field" }, h("label", { for: "new-expert" }, "Who does it"),
          h("select", { id: "new-expert", value: v.expert, onchange: (e: any) => ((v.expert = e.target.value), changed()) }, h("option", { value: "" }, "A plan: the planner chooses experts"), experts.filter((e) => !e.hidden && !e.disabled).map((e) => h("option", { value: e.id, selected: v.expert === e.id }, `${e.name}${e.description ? ` – ${e.description.slice(0, 60)}` : ""}`)))),
        h("label", { class: "check" }, h("input", { type: "checkbox", checked: v.review, onchange: (e: any) => ((v.review = e.target.checked), changed()) }), "Show me the plan before it runs"),
        h("details", { open: v.plan !== "" }, h("summary", null, "A plan of your own"), input("plan", "Plan", "As JSON, in any of the dialects that the planner reads.", { rows: "10", class: "mono", spellcheck: "false" }), plan ? picture.view(plan) : null),
        h("details", null, h("summary", null, "More"), input("context", "Context", "What experts need to know besides the goal.", { rows: "3" }), input("session", "Session", "Jobs of one session know what was said before."), input("id", "Id", "The same id is the same job."),
          input("labels", "Labels", "team=a env=test"), input("model", "Model", "Of planner and experts, by the name in the configuration."), input("tokens", "Most tokens", "", { type: "number", min: "1" }), input("cost", "Most US dollars", "", { type: "number", min: "0", step: "any" })),
        faults.map((f) => faultView(f)),
        h("div", { class: "row" }, h("button", { class: "primary", type: "submit", disabled: busy || (!v.goal.trim() && !v.plan.trim()) }, busy ? "Sending …" : "Submit")),
        h("details", { class: "twins" }, h("summary", null, "The same from a terminal"),
          copyable(`printf %s ${quote(JSON.stringify(body))} | jobgraph submit -f -`, "CLI"), copyable(`nats req jobs.api.submit ${quote(JSON.stringify(body))}`, "NATS"))),
    ];
  };
  return { title: "New job", view, close() {} };
}
