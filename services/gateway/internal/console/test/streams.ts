import { api, follow, Heard, Loader } from "../web/core/api";
import { gateway, hasten, json, rule, same, silence, stream, until } from "./kit";

/** heard follows a stream until it has ended or n events have arrived; it returns them in order. */
async function heard(n: number, answer: (nth: number) => Response) {
  api.set("ok");
  let nth = 0, over = false;
  const got: Heard[] = [];
  const asked = gateway(() => answer(nth++));
  const s = follow("/jobs/j/events", "", (batch) => got.push(...batch), () => (over = true));
  await until(() => over || got.length >= n || api.link === "expired");
  await new Promise(requestAnimationFrame); // Events are delivered once per frame.
  s.close();
  return { got: got.map((e) => [e.id, e.event, e.data]), over, asked };
}

rule("events are read whatever pieces they come in", async () => {
  const { got, over } = await heard(9, () => stream("retry: 1\n\nid: 1\nevent: a.b\nda", 'ta: {"x"', ': "é"}\n', "\n: alive\n\nid: 2\nevent: c\ndata: text\n\nevent: end\ndata: {}\n\n"));
  same(got, [["1", "a.b", { x: "é" }], ["2", "c", "text"]]);
  same(over, true);
});

rule("a stream that breaks goes on after the last event", async () => {
  const { got, asked } = await heard(9, (n) => (n === 0 ? stream("id: 4\nevent: a\ndata: 1\n\nid: 5\nevent: a\ndata: 2\n\nid: 6\nev") : n === 1 ? json({ message: "busy" }, 503) : stream("id: 6\nevent: a\ndata: 3\n\nevent: end\ndata: {}\n\n")));
  same(got.map((e) => e[0]), ["4", "5", "6"]);
  same(asked.map((a) => a.after), ["", "5", "5"]);
});

rule("a stream in which nothing comes for long is asked for again", async () => {
  const { got, asked } = await heard(1, (n) => (n === 0 ? silence() : stream("id: 1\nevent: a\ndata: 1\n\nevent: end\ndata: {}\n\n")));
  same([got.length, asked.length > 1], [1, true]);
});

rule("a stream that is complete, or of nothing, is not asked for again", async () => {
  for (const status of [204, 404]) {
    const { over, asked } = await heard(1, () => (status === 204 ? new Response(null, { status }) : json({ code: "not_found", message: "none" }, status)));
    same([over, asked.length], [true, 1]);
  }
});

rule("a gateway that has no routes yet, and what stands before it, do not end a stream", async () => {
  const answers = [json({ code: "unavailable", message: "starting" }, 503), json({ code: "not_found", field: "path", message: "nothing is served here" }, 404), new Response("<h1>Not Found</h1>", { status: 404 })];
  const { got, over, asked } = await heard(2, (n) => answers[n] || stream("id: 1\nevent: a\ndata: 1\n\nevent: end\ndata: {}\n\n"));
  same([got.length, over, asked.length], [1, true, 4]);
});

rule("a token that ends is told, and ends the streams", async () => {
  const { asked } = await heard(1, () => json({ code: "unauthenticated", message: "the token has expired" }, 401));
  same([api.link, api.reason, asked.length], ["expired", "the token has expired", 1]);
  const later = await heard(1, () => stream('event: fault\ndata: {"code":"unauthenticated","message":"revoked"}\n\n'));
  same([api.link, api.reason, later.got.length, later.asked.length], ["expired", "revoked", 0, 1]);
  api.set("ok");
});

rule("a hidden page has no stream, and goes on when it is seen", async () => {
  const hide = (hidden: boolean) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  let aborted = 0;
  const got: Heard[] = [];
  const asked = gateway(() => stream("id: 3\nevent: a\ndata: 1\n\n"));
  const s = follow("/x", "", (batch) => got.push(...batch));
  await until(() => got.length);
  hide(true);
  const before = asked.length;
  await new Promise((r) => setTimeout(r, 20_000)); // By the hastened clock.
  aborted = asked.length - before;
  hide(false);
  await until(() => asked.length > before + aborted);
  s.close();
  same([aborted <= 1, asked.at(-1)!.after], [true, "3"]);
});

rule("a loader has one request under way, and those that come meanwhile are one", async () => {
  let open: (() => void)[] = [];
  const asked = gateway(() => new Promise<Response>((r) => open.push(() => r(json({ n: asked.length })))));
  let drawn = 0;
  const l = new Loader<{ n: number }>((have) => `/x?have=${have?.n ?? ""}`, () => drawn++, 1, (have, got) => ({ n: (have?.n || 0) * 10 + got.n }));
  l.refresh();
  l.refresh();
  l.refresh();
  await until(() => open.length);
  same(asked.length, 1);
  open.shift()!();
  await until(() => open.length);
  open.shift()!();
  await until(() => drawn === 2);
  same([asked.map((a) => a.path), l.load], [["/x?have=", "/x?have=1"], { value: { n: 12 }, busy: false }]);
  l.close();
});

rule("a loader that has forgotten takes no answer from before", async () => {
  let open: (() => void)[] = [];
  const asked = gateway(() => new Promise<Response>((r) => open.push(() => r(json({ n: asked.length })))));
  const l = new Loader<{ n: number }>((have) => `/x?have=${have?.n ?? ""}`, () => {}, 1, (have, got) => ({ n: (have?.n || 0) * 10 + got.n }));
  l.refresh();
  await until(() => open.length);
  l.forget();
  open.shift()!();
  await until(() => open.length);
  same(l.load.value, undefined);
  open.shift()!();
  await until(() => l.load.value);
  same([asked.map((a) => a.path), l.load.value], [["/x?have=", "/x?have="], { n: 2 }]);
  l.close();
});

rule("a fault is kept beside the last value, and asked again if it passes by itself", async () => {
  const asked = gateway(() => (asked.length === 1 ? json({ a: 1 }) : asked.length === 2 ? json({ code: "unavailable", message: "no bus" }, 503) : json({ a: 3 })));
  const seen: unknown[] = [];
  const l: Loader<any> = new Loader<any>(() => "/x", () => seen.push([l.load.value?.a, l.load.fault?.message]), 1);
  l.refresh();
  await until(() => seen.length === 1);
  l.refresh();
  await until(() => seen.length === 3);
  same(seen, [[1, undefined], [1, "no bus"], [3, undefined]]);
  l.close();
});

rule("a request without an answer is told as a lost connection", async () => {
  gateway(() => Promise.reject(new TypeError("failed")));
  const fault = await api.get("/x").then(() => null, (e) => [e.status, e.fault.code]);
  same([fault, api.link], [[0, "unavailable"], "lost"]);
  gateway(() => json({}));
  await api.send("POST", "/x", { a: 1 });
  same(api.link, "ok");
});

hasten();
