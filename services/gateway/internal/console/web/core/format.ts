// Numbers, times and texts in the form that people read. Pure.

/** span formats a duration in milliseconds, with at most two units. */
export function span(ms: number): string {
  if (!isFinite(ms)) return "–";
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} m ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(m / 60);
  if (hours < 48) return `${hours} h ${String(m % 60).padStart(2, "0")} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** ago says how long ago a time was. */
export function ago(time: string | undefined, now = Date.now()): string {
  if (!time) return "–";
  const ms = now - Date.parse(time);
  if (!isFinite(ms)) return "–";
  if (Math.abs(ms) < 5000) return "now";
  return ms < 0 ? `in ${coarse(-ms)}` : `${coarse(ms)} ago`;
}

function coarse(ms: number): string {
  const s = ms / 1000;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** clock formats a time in the reader's time zone, with the date unless it is today. */
export function clock(time: string | number | undefined, fine = false): string {
  if (!time) return "–";
  const d = new Date(time);
  if (isNaN(+d)) return "–";
  const day = d.toDateString() === new Date().toDateString() ? "" : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
  const ms = fine ? `.${String(d.getMilliseconds()).padStart(3, "0")}` : "";
  return `${day}${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}${ms}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** bytes formats a size. */
export function bytes(n: number | undefined): string {
  if (n === undefined || n === null) return "–";
  if (n < 1024) return `${n} B`;
  if (n < 1 << 20) return `${(n / 1024).toFixed(n < 10240 ? 1 : 0)} KiB`;
  if (n < 1 << 30) return `${(n / (1 << 20)).toFixed(1)} MiB`;
  return `${(n / (1 << 30)).toFixed(1)} GiB`;
}

/** count formats a whole number, shortened from ten thousand on. */
export function count(n: number | undefined): string {
  if (!n) return "0";
  if (n < 10000) return String(n);
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e5 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

/** money formats a cost in US dollars. */
export function money(usd: number | undefined): string {
  if (!usd) return "$0";
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

/** cost formats what was spent: tokens and dollars, empty for nothing. */
export function cost(c: { tokens?: number; cost_usd?: number } | undefined): string {
  if (!c || (!c.tokens && !c.cost_usd)) return "";
  const parts = [];
  if (c.tokens) parts.push(`${count(c.tokens)} tokens`);
  if (c.cost_usd) parts.push(money(c.cost_usd));
  return parts.join(" · ");
}

/** cut shortens a text to this many characters. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

/** oneLine makes a foreign text fit into one line: it removes control characters and marks that change the direction of text. */
export function oneLine(text: unknown): string {
  return String(text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ");
}

/** pretty formats JSON for people: a text as it is, anything else indented. */
export function pretty(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** visible is indented JSON in which no character can hide: characters without width, and those that change the direction of text, are escaped. */
export function visible(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? "";
  return text.replace(/[\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g,
    (c) => [...Array(c.length).keys()].map((i) => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));
}

/** quote turns a text into one word of a shell. */
export function quote(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(text) && !text.startsWith("~") ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}
