import { h, patch } from "../web/core/dom";
import { ago, bytes, clock, cost, count, cut, money, oneLine, pretty, quote, span, visible } from "../web/core/format";
import { rich } from "../web/core/rich";
import { bar, isOver, stateOf } from "../web/core/status";
import { cliOf, natsOf, readTwins } from "../web/core/twin";
import { gist } from "../web/views/events";
import { argsOf, planOf } from "../web/views/inbox";
import { budgetMark, modelMark, partOf, poolMark } from "../web/views/supply";
import { rule, same } from "./kit";

rule("durations have at most two units", () => {
  same([-5, 0, 999.4, 1000, 9_949, 10_000, 59_999, 60_000, 3_599_999, 3_600_000, 172_799_000, 172_800_000, NaN].map(span),
    ["0 ms", "0 ms", "999 ms", "1.0 s", "9.9 s", "10 s", "59 s", "1 m 00 s", "59 m 59 s", "1 h 00 m", "47 h 59 m", "2 d 0 h", "–"]);
});

rule("a moment is told from now, before and after", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  same(["2026-01-01T23:59:56Z", "2026-01-01T23:59:50Z", "2026-01-01T23:00:00Z", "2026-01-01T00:00:00Z", "2025-12-30T00:00:00Z", "2026-01-02T00:02:00Z", "no time", undefined].map((t) => ago(t, now)),
    ["now", "10 s ago", "1 h ago", "24 h ago", "3 d ago", "in 2 min", "–", "–"]);
});

rule("a clock names the day unless it is today", () => {
  same([clock(undefined), clock("nonsense"), /^\d\d:\d\d:\d\d\.\d{3}$/.test(clock(Date.now(), true)), /^2001-02-03 \d\d:\d\d:\d\d$/.test(clock("2001-02-03T12:00:00Z"))], ["–", "–", true, true]);
});

rule("sizes, counts and money are short", () => {
  same([undefined, 0, 1023, 1024, 10240, 1 << 20, 1 << 30].map(bytes), ["–", "0 B", "1023 B", "1.0 KiB", "10 KiB", "1.0 MiB", "1.0 GiB"]);
  same([undefined, 9999, 10_000, 123_456, 1_234_567].map(count), ["0", "9999", "10.0k", "123k", "1.2M"]);
  same([undefined, 0.0012, 0.01, 3].map(money), ["$0", "$0.0012", "$0.01", "$3.00"]);
  same([cost(undefined), cost({}), cost({ tokens: 5 }), cost({ tokens: 5, cost_usd: 1 })], ["", "", "5 tokens", "5 tokens · $1.00"]);
  same([cut("abc", 3), cut("abcd", 3), pretty("a"), pretty({ a: 1 }), pretty(undefined)], ["abc", "ab…", "a", "{\n  \"a\": 1\n}", ""]);
});

rule("a line has no character that breaks or turns it", () => {
  same(oneLine("a\nb\u202ec\u2066d\u0000e\u200ff"), "a b c d e f");
  same(oneLine(undefined), "");
});

rule("arguments hide no character", () => {
  same(visible({ a: "x\u200by\u202ez\ufeff\u00a0\udb40\udc41" }), '{\n  "a": "x\\u200by\\u202ez\\ufeff\\u00a0\\udb40\\udc41"\n}');
  same(JSON.parse(visible({ a: "x\u200by" })), { a: "x\u200by" });
});

rule("a shell reads a word as it was", () => {
  same(["plain/word:1", "", "two words", "it's", "~home", "$(x)"].map(quote), ["plain/word:1", "''", "'two words'", "'it'\\''s'", "'~home'", "'$(x)'"]);
});

rule("each action has its command", () => {
  const cli = (verb: string, input: any) => cliOf(verb, "a job", input);
  same([
    cli("stop", { subjob: "s", only: true, reason: "no need" }), cli("stop", {}), cli("fail", { subjob: "s" }), cli("recover", { from: "s" }), cli("retry", { subjob: "s" }), cli("delete", {}),
    cli("rerun", { subjob: "s", edit: { goal: "g" } }), cli("rerun", { subjob: "s" }), cli("edit", { plan: { subjobs: [] } }),
    cli("fork", { at: 7, before: "s", model: "m", expert: "e", prompt: "do it", result: { a: 1 }, new_id: "n" }),
    cli("answer", { request: "r", answer: "yes" }), cli("answer", { request: "r", answer: { ok: true } }), cli("answer", { request: "r", action: "cancelled" }),
  ], [
    "jobgraph stop 'a job/s' --only --reason 'no need'", "jobgraph stop 'a job'", "jobgraph fail 'a job/s'", "jobgraph recover 'a job' --from s", "jobgraph retry 'a job/s'", "jobgraph delete 'a job' --force",
    "printf %s '{\"goal\":\"g\"}' > edit.json; jobgraph rerun 'a job/s' --edit edit.json", "jobgraph rerun 'a job/s'", "printf %s '{\"subjobs\":[]}' | jobgraph plan update 'a job' -f -",
    "jobgraph fork 'a job' --at 7 --before s --model m --expert e --prompt 'do it' --result '{\"a\":1}' --id n",
    "jobgraph answer 'a job' r yes", "jobgraph answer 'a job' r '{\"ok\":true}'", "jobgraph inputs cancel 'a job' r",
  ]);
});

rule("each action that the bus takes has its request", () => {
  same([natsOf("stop", "j", { subjob: "s" }), natsOf("answer", "j", { request: "r", answer: "it's" }), natsOf("fork", "j", {})],
    ["nats req jobs.api.stop '{\"id\":\"j\",\"subjob\":\"s\"}'", "nats req jobs.api.answer '{\"id\":\"j\",\"request\":\"r\",\"answer\":\"it'\\''s\"}'", ""]);
});

rule("what a page shows has its commands", () => {
  same([readTwins("pools", {}), readTwins("budgets", { id: "a job" }), readTwins("budgets", { session: "it's" })], [
    [["CLI", "jobgraph pools"], ["NATS", "nats req jobs.api.pools '{}'"]],
    [["CLI", "jobgraph budgets 'a job'"], ["NATS", "nats req jobs.api.budgets '{\"id\":\"a job\"}'"]],
    [["CLI", "jobgraph budgets --session 'it'\\''s'"], ["NATS", "nats req jobs.api.budgets '{\"session\":\"it'\\''s\"}'"]],
  ]);
});

rule("a pool that no worker reads needs care, one whose worker is busy does not", () => {
  const pool = (more: object) => poolMark({ pool: "far", waiting: 0, in_hand: 0, readers: 0, ...more });
  same([{}, { waiting: 1 }, { waiting: 2, pool: "~planner" }, { in_hand: 1 }, { readers: 1 }, { readers: 1, in_hand: 2, waiting: 3, limit: 2 }, { readers: 1, in_hand: 2, waiting: 3, limit: 3 }, { batches: true }, { batches: true, waiting: 1 }].map(pool), [
    { state: "waiting", word: "no worker", care: "Pool far has no worker: start a runner with --pools far" },
    { state: "failed", word: "no worker", care: "Pool far has no worker and 1 waits: start a runner with --pools far" },
    { state: "failed", word: "no worker", care: "Pool ~planner has no worker and 2 wait: start a planner" },
    { state: "running", word: "at work" }, { state: "finished", word: "has workers" },
    { state: "waiting", word: "full", care: "Pool far is full and 3 wait: its limit is 2 at once" }, { state: "running", word: "at work" },
    { state: "planned", word: "no batches" }, { state: "failed", word: "no worker", care: "Pool far (batches) has no worker and 1 waits: start a runner with --pools far" },
  ]);
});

rule("a model without room needs care until it has some", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  const model = (room?: object) => modelMark({ name: "fast", model: "m", room }, now);
  same([undefined, { slots: 1, requests: 1 }, { slots: 0, requests: 1 }, { slots: 0, requests: 0, tokens: 0 }, { closed: "2026-01-01T23:59:59Z" }].map(model), [
    { state: "planned", word: "no limit" }, { state: "finished", word: "has room" },
    { state: "waiting", word: "no room", care: "Model fast has no room: all its slots are taken" },
    { state: "waiting", word: "no room", care: "Model fast has no room: all its slots are taken, the requests of the minute are used up, the tokens of the minute are used up" },
    { state: "finished", word: "has room" },
  ]);
  same(model({ closed: "2026-01-02T00:00:01Z" }).word, "closed");
});

rule("a budget is told by the limit that is nearest", () => {
  const budget = (spent: object | undefined, limit: object | undefined, more: object = {}) => ({ scope: "job", id: "j", spent, limit, ...more });
  const list = [budget({ tokens: 79 }, { tokens: 100 }), budget({ tokens: 1, cost_usd: 0.8 }, { tokens: 100, cost_usd: 1 }), budget({ tokens: 100 }, { tokens: 100 }), budget({ tokens: 9 }, undefined), budget(undefined, { cost_usd: 2 }), budget(undefined, { tokens: 5 }, { scope: "each job", id: "" })];
  same(list.map(partOf), [0.79, 0.8, 1, undefined, 0, undefined]);
  same(list.map(budgetMark), [
    { state: "finished", word: "has room" }, { state: "waiting", word: "nearly spent", care: "The budget of job j is nearly spent: raise the limit" }, { state: "failed", word: "spent", care: "The budget of job j is spent: raise the limit" },
    { state: "planned", word: "no limit" }, { state: "finished", word: "has room" }, { state: "planned", word: "a rule" },
  ]);
  same(/^The budget of the day is spent: it renews in \d+ h$/.test(budgetMark(budget({ tokens: 9 }, { tokens: 5 }, { scope: "day", id: undefined, renews: new Date(Date.now() + 5.5 * 3600e3).toISOString() })).care || ""), true);
});

rule("an event is told in a line", () => {
  const told = (kind: string, data: any) => gist({ seq: 1, time: "", kind, data });
  same([
    told("job.requested", { request: { goal: "g" } }), told("graph.created", { plan: { subjobs: [1, 2], title: "T" } }), told("graph.replaced", { plan_version: 2, added: [1], removed: [] }),
    told("plan.rejected", { faults: [{ message: "a" }, { message: "b" }] }), told("subjob.reported", { outcome: "SUCCESS", output: { a: 1 } }), told("subjob.reported", { outcome: "EXECUTION_ERROR", error: { message: "m" } }),
    told("input.requested", { kind: "form", prompt: "p?" }), told("input.closed", { action: "answered", by: "ann", answer: 1 }), told("job.advanced", { transitions: [{ subjob: "a", transition: "ready" }] }), told("stop.requested", { reason: "r" }), told("x", undefined),
  ], ["g", "2 steps: T", "plan 2: 1 added, 0 removed", "a; b", 'SUCCESS {"a":1}', "EXECUTION_ERROR: m", "form: p?", "answered by ann 1", "a ready", "r", ""]);
});

rule("a status is a state with a name", () => {
  same(["CREATED", "FINALIZING", "LEGACY", "NEW"].map(stateOf), ["created", "finalizing", "replaced", "new"]);
  same(["FINISHED", "FAILED", "STOPPED", "RUNNING", "WAITING"].map(isOver), [true, true, true, false, false]);
  same(bar({ finished: 1, planned: 3 }).props["aria-label"], "1 finished, 3 planned");
});

rule("the arguments of a call are read out of its question", () => {
  same(argsOf('May x call y with {"a":"}{\\"","b":[1,{"c":2}]}? A reason {"z":1}'), { a: '}{"', b: [1, { c: 2 }] });
  same([argsOf("May x call y?"), argsOf("with {broken"), argsOf(' with {"a":}?')], [undefined, undefined, undefined]);
});

rule("the plan of a review is read out of the form of its answer", () => {
  const plan = { subjobs: [{ id: "a" }] };
  same([planOf({ anyOf: [{ type: "string", examples: ["accept"] }, { type: "object" }, { type: ["object", "array"], examples: [plan] }] }), planOf({ anyOf: [{ examples: [[1], null] }] }), planOf({ type: "object" }), planOf(undefined)],
    [plan, undefined, undefined, undefined]);
});

rule("what the server has rendered comes in as known elements alone", () => {
  const box = document.createElement("div");
  box.append(rich('<p class="ok" id="i" onclick="x()" style="x">a<b>c</b><script>d</scr' + 'ipt><img src=x onerror=y><a href="https://e/">f</a><a href="javascript:g">h</a><iframe>i</iframe><table><tr><td colspan="2" rowspan="x">j</td></tr></table><custom>k</custom><svg><p>l</p></svg></p><input type=text value=m checked>'));
  same(box.innerHTML,
    '<p class="ok">a<b>c</b><a href="https://e/" target="_blank" rel="noopener noreferrer">f</a><a>h</a><table><tbody><tr><td colspan="2">j</td></tr></tbody></table>k</p><p>l</p><p></p><input type="checkbox" disabled="">');
});

rule("data becomes text, and an element keeps its identity by key", () => {
  const box = document.createElement("div");
  patch(box, [h("p", { key: "a" }, "<b>1</b>"), h("p", { key: "b", class: "x", title: null }, "2"), "t", null, false]);
  const [a, b] = box.children;
  same(box.innerHTML, '<p>&lt;b&gt;1&lt;/b&gt;</p><p class="x">2</p>t');
  patch(box, [h("p", { key: "b" }, "3"), h("p", { key: "a" }, "4"), h("i", null)]);
  same([box.innerHTML, box.children[0] === b, box.children[1] === a], ["<p>3</p><p>4</p><i></i>", true, true]);
  let heard = "";
  patch(box, [h("button", { onclick: () => (heard += "1"), disabled: false, style: { width: "5px" } })]);
  patch(box, [h("button", { onclick: () => (heard += "2"), style: { height: "6px" } })]);
  (box.firstChild as HTMLElement).click();
  same([heard, box.children.length, (box.firstChild as HTMLElement).style.width, (box.firstChild as HTMLElement).style.height], ["2", 1, "", "6px"]);
});
