// The base of the tests of the pure modules: named rules, comparison of whole values, and a gateway that is a function.

const clock = window.setTimeout.bind(window);
const rules: { name: string; hold: () => unknown }[] = [];

/** rule adds a test, named by what it proves. */
export function rule(name: string, hold: () => unknown) {
  rules.push({ name, hold });
}

/** same fails unless two values are equal as JSON, whatever the order of their fields; undefined counts as a value. */
export function same(got: unknown, want: unknown, of = "") {
  const a = text(got), b = text(want);
  if (a !== b) throw new Error(`${of ? of + ": " : ""}got ${a}\nwant ${b}`);
}

function text(v: unknown): string {
  return JSON.stringify(v, (_, x) => {
    if (x === undefined) return "undefined";
    if (x instanceof Map || x instanceof Set) return [...x];
    return x && typeof x === "object" && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).filter(([, v]) => v !== undefined).sort(([p], [q]) => (p < q ? -1 : 1))) : x;
  }) ?? "undefined";
}

/** fails returns the message of the error that f throws. */
export function fails(f: () => unknown): string {
  try {
    f();
  } catch (e: any) {
    return e.message;
  }
  throw new Error("nothing was thrown");
}

/** until waits for a condition; if it never comes true, the runner ends the test. */
export async function until(ok: () => unknown) {
  while (!ok()) await new Promise((r) => setTimeout(r, 1));
}

/** Asked is a request that the page has made. */
export interface Asked { path: string; method: string; body: any; after: string; }

/** gateway answers the page's requests with a function and returns the requests that were made. */
export function gateway(answer: (a: Asked) => Response | Promise<Response>): Asked[] {
  const asked: Asked[] = [];
  window["fetch"] = (async (path: string, init: RequestInit = {}) => {
    const headers = init.headers as Record<string, string>;
    const a = { path: path.replace("/api/v1", ""), method: init.method || "GET", body: init.body ? JSON.parse(String(init.body)) : undefined, after: headers["Last-Event-ID"] || "" };
    asked.push(a);
    return answer(a);
  }) as any;
  return asked;
}

/** json is an answer. */
export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status });
}

/** stream is an answer of server-sent events, which arrives in the given pieces and then ends. */
export function stream(...pieces: string[]): Response {
  const bytes = new TextEncoder();
  return new Response(new ReadableStream({
    start(c) {
      for (const p of pieces) c.enqueue(bytes.encode(p));
      c.close();
    },
  }));
}

/** silence is a stream without events. */
export function silence(): Response {
  return new Response(new ReadableStream({}));
}

/** run tries every rule and returns the names with what failed, "" for those that hold. */
export async function run(): Promise<[string, string][]> {
  const results: [string, string][] = [];
  for (const r of rules) {
    let fault = "";
    try {
      await Promise.race([r.hold(), new Promise((_, late) => clock(() => late(new Error("it waits for ever")), 20_000))]);
    } catch (e: any) {
      fault = String(e?.stack || e);
    }
    results.push([r.name, fault]);
  }
  return results;
}

/** hasten makes all waits a thousand times shorter. */
export function hasten() {
  const real = window.setTimeout;
  window.setTimeout = ((f: () => void, ms = 0) => real(f, ms / 1000)) as any;
}
