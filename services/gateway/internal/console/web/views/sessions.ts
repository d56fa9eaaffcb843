// Sessions, and one session as a chat.

import { api, follow, Loader, Refusal, seg, Stream } from "../core/api";
import { Child, h, VNode } from "../core/dom";
import { ago, clock, oneLine, span } from "../core/format";
import { changed, empty, faultView, head, link, notify, Page } from "../core/page";
import { spoken } from "../core/render";
import { chip } from "../core/status";
import type { Fault, Item, Question } from "../core/types";
import { Draft } from "./inbox";

interface Session { id: string; user?: string; title?: string; state: string; updated?: string; total?: number; jobs?: { id: string; goal?: string; status: string; asking?: boolean }[]; budget?: any; }

export function sessionsPage(): Page {
  const list = new Loader<{ sessions: Session[]; total: number }>(() => "/sessions?limit=200", changed, 500);
  list.refresh();
  const timer = setInterval(() => document.hidden || list.refresh(), 4000);
  let find = "";
  const view = (): Child => {
    const all = (list.load.value?.sessions || []).filter((s) => `${s.id} ${s.title || ""} ${s.user || ""}`.toLowerCase().includes(find.toLowerCase()));
    return [
      head("Sessions"),
      h("div", { class: "toolbar" }, h("input", { type: "search", placeholder: "Search sessions", "aria-label": "Search sessions", value: find, oninput: (e: any) => ((find = e.target.value), changed()) })),
      list.load.fault && !list.load.value ? faultView(list.load.fault, list.refresh) : null,
      list.load.value && !all.length ? empty(find ? "No session matches." : "There are no sessions yet.", find ? null : h("p", { class: "muted" }, "A session begins with the first job that names one: ", h("code", null, "jobgraph chat"), ".")) : null,
      all.length ? h("ul", { class: "rows" }, all.map((s) => h("li", { key: s.id }, link(`/sessions/${seg(s.id)}${s.user ? `?user=${seg(s.user)}` : ""}`, { class: "row-link" },
        h("span", { class: `dot s-${s.state === "active" ? "running" : s.state === "waiting" ? "waiting" : "stopped"}`, "aria-hidden": "true" }),
        h("span", { class: "what" }, h("span", { class: "title" }, oneLine(s.title || s.id)), h("span", { class: "sub" }, h("span", { class: "mono" }, s.id), s.user ? ` · ${oneLine(s.user)}` : "", ` · ${s.total ?? s.jobs?.length ?? 0} jobs`, ` · ${s.state}`)),
        h("span", { class: "when muted", title: clock(s.updated) }, ago(s.updated)))))) : null,
    ];
  };
  return { title: "Sessions", view, close: () => (clearInterval(timer), list.close()) };
}

const mostShown = 300;

export function sessionPage(q: URLSearchParams, id: string): Page {
  const user = q.get("user") || "";
  const as = user ? `?user=${seg(user)}` : "";
  const session = new Loader<Session>(() => `/sessions/${seg(id)}${as}`, changed, 500);
  session.refresh();
  const items = new Map<string, Item>();
  let earlier = false;
  let fault: Fault | null = null;
  let stream: Stream | null = null;
  let text = "";
  let busy = false;
  const drafts = new Map<string, Draft>();
  const questions = new Loader<{ inputs: Question[] }>(() => "/inputs", changed, 500);
  questions.refresh();
  const take = (list: Item[]) => {
    for (const i of list) {
      const key = `${i.job}/${i.subjob}/${i.run}/${i.id}`;
      const old = items.get(key);
      items.set(key, old && i.offset ? { ...old, ...i, text: (old.text || "") + (i.text || "") } : { ...old, ...i, text: i.text ?? old?.text });
    }
    session.refresh();
    questions.refresh();
    changed();
  };
  api.get<{ items: Item[]; earlier: boolean }>(`/sessions/${seg(id)}/conversation${as}`).then((c) => {
    take(c.items);
    earlier = c.earlier;
    stream = follow(`/sessions/${seg(id)}/conversation${as}`, String(Math.max(0, ...c.items.map((i) => i.seq || 0))), (batch) => take(batch.map((b) => b.data as Item)));
  }, (e) => ((fault = e.fault || { code: "internal", message: String(e) }), changed()));

  const more = async () => {
    const first = Math.min(...[...items.values()].map((i) => i.seq || Infinity));
    const c = await api.get<{ items: Item[]; earlier: boolean }>(`/sessions/${seg(id)}/conversation${as ? as + "&" : "?"}before=${first}`);
    const later = [...items];
    items.clear();
    take(c.items);
    for (const [k, i] of later) items.set(k, i);
    earlier = c.earlier;
    changed();
  };
  const send = async (e: Event) => {
    e.preventDefault();
    if (!text.trim() || busy) return;
    busy = true;
    changed();
    try {
      await api.send("POST", "/jobs", { goal: text.trim(), session: id, ...(user ? { user } : {}) });
      text = "";
      session.refresh();
    } catch (e: any) {
      notify(e.message, "bad", { hint: e instanceof Refusal ? e.fault.hint : "" });
    } finally {
      busy = false;
      changed();
    }
  };
  const view = (): Child => {
    const s = session.load.value;
    const open = (questions.load.value?.inputs || []).filter((x) => s?.jobs?.some((j) => j.id === x.job_id) && x.kind !== "timer");
    const asked = new Set(open.map((x) => x.request)); // The open form already shows the text of its question.
    const shown = [...items.values()].filter((i) => i.type !== "question" || !asked.has(i.request || "")).slice(-mostShown);
    return [
      h("div", { class: "crumb" }, link("/sessions", null, "Sessions"), " / ", h("span", { class: "mono" }, id)),
      head(oneLine(s?.title || id), s ? h("span", { class: "muted" }, `${s.user ? `${oneLine(s.user)} · ` : ""}${s.state}`) : null),
      fault ? faultView(fault) : null,
      h("div", { class: "chat" },
        h("div", { class: "row wrap jobs-strip" }, (s?.jobs || []).slice(0, 8).map((j) => link(`/jobs/${seg(j.id)}`, { key: j.id, class: "job-pill", title: oneLine(j.goal) }, chip(j.status), h("span", null, oneLine(j.goal || j.id).slice(0, 40))))),
        earlier ? h("button", { class: "small", onclick: more }, "Earlier") : null,
        h("ol", { class: "said", "aria-live": "polite" }, shown.map(said)),
        !shown.length && !fault ? empty("Nothing was said yet.") : null,
        open.map((x) => {
          let d = drafts.get(x.request);
          if (!d) drafts.set(x.request, (d = new Draft(x, () => questions.refresh())));
          return d.view();
        }),
        h("form", { class: "say", onsubmit: send },
          h("textarea", { rows: "2", "aria-label": "Message", placeholder: "Write to this session", value: text, oninput: (e: any) => ((text = e.target.value), changed()), onkeydown: (e: KeyboardEvent) => e.key === "Enter" && !e.shiftKey && send(e) }),
          h("button", { class: "primary", type: "submit", disabled: busy || !text.trim() || !api.may("submit") }, "Send"))),
    ];
  };
  return { title: `Session ${id}`, view, moved: () => {}, close: () => (stream?.close(), session.close(), questions.close()) };
}

function said(i: Item): VNode {
  const key = `${i.job}/${i.subjob}/${i.run}/${i.id}`;
  const mine = i.type === "message" || i.type === "answer";
  if (i.type === "tool") return h("li", { key, class: "said-tool muted" }, `${oneLine(i.expert || "")} used ${oneLine(i.tool)}${i.done ? ` · ${i.outcome || "done"}${i.took_ms ? ` in ${span(i.took_ms)}` : ""}` : " …"}`);
  if (i.type === "log" || i.type === "progress" || i.type === "raw" || i.type === "prompt") return h("li", { key, class: "said-tool muted" }, oneLine(i.text).slice(0, 200));
  return h("li", { key, class: `said-item ${mine ? "mine" : "theirs"} say-${i.type}` },
    h("div", { class: "said-who" }, oneLine(i.user || i.expert || (mine ? "you" : i.subjob === "~plan" || !i.subjob ? "planner" : i.subjob)), i.type !== "message" && i.type !== "text" ? ` · ${i.type}` : "", i.at ? h("time", { title: clock(i.at) }, ` ${ago(i.at)}`) : null),
    i.type === "thinking" ? h("details", null, h("summary", null, "Thoughts"), h("pre", { class: "muted" }, i.text || "")) : spoken(i.text || ""),
    i.truncated ? h("div", { class: "muted" }, `${i.truncated} bytes more`) : null);
}
