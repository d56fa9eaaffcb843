// Access to the gateway: requests, faults and streams. No other module uses the network, and this one only the page's own origin.

import type { Fault, Me } from "./types";
import { frame } from "./dom";

/** Refusal is an answer with a fault, or the lack of an answer (status 0). */
export class Refusal extends Error {
  constructor(public status: number, public fault: Fault, public faults: Fault[] = []) {
    super(fault.message);
  }
}

export type Link = "ok" | "lost" | "expired";

/** api is this page's connection to the gateway. */
export const api = {
  link: "ok" as Link,
  reason: "",
  me: null as Me | null,
  heard: [] as (() => void)[],

  /** on calls f whenever the state of the connection changes. */
  on(f: () => void) {
    this.heard.push(f);
  },

  set(link: Link, reason = "") {
    if (this.link === link && this.reason === reason) return;
    this.link = link;
    this.reason = reason;
    for (const f of this.heard) f();
  },

  /** may reports whether the reader's roles permit a verb, for jobs of this user; the gateway has the last word. */
  may(verb: string, user?: string): boolean {
    return !this.me || this.me.verbs.includes(verb) || !!user && user === this.me.user && !!this.me.own?.includes(verb);
  },

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return ask("GET", path, undefined, signal);
  },

  send<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
    return ask(method, path, body, undefined, headers);
  },
};

async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<any> {
  let answer: Response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(under(path), {
      method, signal, body: text, cache: "no-cache",
      headers: { Accept: "application/json", ...(text === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    });
  } catch (e: any) {
    if (e?.name === "AbortError") throw e;
    api.set("lost", "the gateway does not answer");
    throw new Refusal(0, { code: "unavailable", message: "the gateway does not answer", hint: "the page tries again by itself" });
  }
  if (answer.ok) {
    api.set("ok");
    return answer.status === 204 ? null : answer.json();
  }
  throw await refusal(answer);
}

/** under makes a path of the API absolute. */
export function under(path: string): string {
  return path.startsWith("/api/") ? path : "/api/v1" + path;
}

async function refusal(answer: Response): Promise<Refusal> {
  let fault: any = { code: "internal", message: `${answer.status} ${answer.statusText}` };
  try {
    const body = await answer.json();
    if (body && body.message) fault = body;
  } catch { /* Not of the gateway: its status has to do. */ }
  if (answer.status === 401) api.set("expired", fault.message);
  return new Refusal(answer.status, fault, fault.faults || []);
}

/** seg escapes one element of a path. */
export function seg(text: string): string {
  return encodeURIComponent(text);
}

export interface Heard { id: string; event: string; data: any; }

export interface Stream { close(): void; }

/** follow reads a stream of the gateway and resumes it after a break. Events come in batches, one per frame, so that a flood costs
 * one redraw. While the page is hidden the stream is closed, since browsers allow few connections. */
export function follow(path: string, after: string, take: (batch: Heard[]) => void, ended?: () => void): Stream {
  let last = after;
  let stop: AbortController | null = null;
  let closed = false;
  let wait = 500;
  let batch: Heard[] = [];
  const flush = () => {
    const b = batch;
    batch = [];
    if (b.length && !closed) take(b);
  };
  const run = async () => {
    while (!closed && !document.hidden && api.link !== "expired") {
      stop = new AbortController();
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (last) headers["Last-Event-ID"] = last;
        const answer = await fetch(under(path), { headers, signal: stop.signal, cache: "no-store" });
        if (answer.status === 204) return ended?.();
        if (!answer.ok) {
          const why = await refusal(answer);
          if (answer.status === 401) return;
          if (answer.status === 404 && why.fault.code === "not_found" && why.fault.field !== "path") return ended?.(); // Any other 404 comes from a gateway that is starting, or from a proxy before it.
          throw why;
        }
        api.set("ok");
        wait = 500;
        const over = await read(answer.body!, (e) => {
          if (e.id) last = e.id;
          if (e.event === "fault") {
            if (e.data?.code === "unauthenticated") api.set("expired", e.data.message);
            return;
          }
          batch.push(e);
          frame(flush);
        });
        if (over) return ended?.();
      } catch (e: any) {
        if (closed || e?.name === "AbortError") return;
        if (!(e instanceof Refusal)) api.set("lost", "the stream of events broke off");
      }
      await new Promise((r) => setTimeout(r, wait));
      wait = Math.min(wait * 2, 8000);
    }
  };
  let running = run();
  const seen = () => {
    if (document.hidden) stop?.abort();
    else running = running.then(run);
  };
  document.addEventListener("visibilitychange", seen);
  return {
    close() {
      closed = true;
      document.removeEventListener("visibilitychange", seen);
      stop?.abort();
    },
  };
}

/** quiet is how long a stream may be silent: the gateway gives a sign of life every 15 s. After the machine was asleep, a connection
 * may be gone without an error. */
const quiet = 45_000;

function within<T>(p: Promise<T>, ms: number): Promise<T> {
  let timer = 0;
  const late = new Promise<never>((_, reject) => (timer = window.setTimeout(() => reject(new Error("the stream is quiet")), ms)));
  return Promise.race([p, late]).finally(() => clearTimeout(timer));
}

/** read parses server-sent events; it returns true after the event "end". */
async function read(body: ReadableStream<Uint8Array>, take: (e: Heard) => void): Promise<boolean> {
  const from = body.pipeThrough(new TextDecoderStream() as any).getReader();
  let rest = "";
  let over = false;
  for (;;) {
    const { value, done } = await within(from.read(), quiet);
    if (done) return over;
    rest += value;
    let at = 0;
    for (let end; (end = rest.indexOf("\n\n", at)) >= 0; at = end + 2) {
      const e = parse(rest.slice(at, end));
      if (!e) continue;
      if (e.event === "end") over = true;
      else take(e);
    }
    rest = rest.slice(at);
  }
}

function parse(block: string): Heard | null {
  let id = "", event = "message", data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  if (!data) return null;
  try {
    return { id, event, data: JSON.parse(data) };
  } catch {
    return { id, event, data };
  }
}

/** Load is the state of a fetched value: the value, or why there is none. */
export interface Load<T> { value?: T; fault?: Fault; busy: boolean; }

/** Loader fetches a value repeatedly: one request at a time, and no more often than the server can answer. */
export class Loader<T> {
  load: Load<T> = { busy: false };
  private again = false;
  private closed = false;
  private timer = 0;
  private gap = 80;
  private wave = 0; // Counts calls of forget: answers from before are dropped.

  /** path is the address to request; merge combines a partial answer with the value so far; least is the shortest time between two requests. */
  constructor(private path: (have?: T) => string, private changed: () => void, private least = 80, private merge: (have: T | undefined, got: T) => T = (_, got) => got) {}

  /** refresh requests the newest value; calls during a request are combined into one. */
  refresh = () => {
    if (this.closed) return;
    if (this.load.busy || this.timer) {
      this.again = true;
      return;
    }
    this.load.busy = true;
    const begun = performance.now();
    const wave = this.wave;
    api.get<T>(this.path(this.load.value)).then(
      (got) => (this.load = { value: wave === this.wave ? this.merge(this.load.value, got) : undefined, busy: false }),
      (e) => (this.load = { value: this.load.value, busy: false, fault: e instanceof Refusal ? e.fault : { code: "internal", message: String(e) } }),
    ).finally(() => {
      if (this.closed) return;
      this.gap = Math.max(this.least, 3 * (performance.now() - begun));
      if (this.load.fault && ["unavailable", "too_many_requests"].includes(this.load.fault.code)) {
        this.again = true; // It is temporary.
        this.gap = Math.max(this.gap, 2000);
      }
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        if (this.again) {
          this.again = false;
          this.refresh();
        }
      }, this.gap);
      this.changed();
    });
  };

  /** forget drops the value and requests all of it again. */
  forget() {
    this.wave++;
    this.load = { busy: this.load.busy };
    this.refresh();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
