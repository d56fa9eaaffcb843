// The time slider, with one position for each event of the log. What it shows comes from the timeline, not from a request for each
// move.

import { api } from "../core/api";
import { h, VNode } from "../core/dom";
import { clock, span } from "../core/format";
import { indexAt } from "../core/frame";
import { query, changed } from "../core/page";
import type { JobStore } from "../core/store";

const coarse = 1000; // The positions of the slider while the number of events is unknown.
let playing = 0;

function stop() {
  clearInterval(playing);
  playing = 0;
}

export function slider(store: JobStore): VNode {
  const t = store.timeline;
  const at = store.at;
  const n = t?.events.length || 0;
  const last = t ? t.events[n - 1]?.[0] || 0 : 0;
  const sought = t && store.wanted >= 0 ? Math.round(store.wanted * (n - 1)) : -1; // Where the slider was set before the number of positions was known.
  const index = sought >= 0 ? sought : t && at ? indexAt(t, at) : n - 1;
  const wind = (i: number) => {
    if (!t) return;
    const seq = t.events[Math.max(0, Math.min(i, n - 1))][0];
    query({ at: seq === last && !store.offline ? null : String(seq) }, true);
  };
  if (sought >= 0) {
    store.wanted = -1;
    queueMicrotask(() => wind(sought));
  }
  const slide = (e: any) => {
    if (t) return wind(Number(e.target.value));
    store.wanted = Number(e.target.value) / coarse;
    store.wantTimes();
  };
  const play = () => {
    if (playing) return stop(), changed();
    if (!t) {
      store.wanted = 0;
      return store.wantTimes();
    }
    if (index >= n - 1) wind(0);
    playing = window.setInterval(() => {
      const now = store.timeline;
      const i = now ? indexAt(now, store.at || last) : n;
      if (!now || i >= now.events.length - 1 || !document.contains(document.getElementById("slider"))) return stop(), changed();
      query({ at: String(now.events[i + 1][0]) }, true);
    }, Math.max(40, Math.min(400, 15000 / Math.max(1, n))));
    changed();
  };
  const text = t && n ? `event ${index + 1} of ${n}: ${t.events[index]?.[2]}` : "";
  return h("div", { class: "slider", role: "group", "aria-label": "Time" },
    h("button", { class: "small", "aria-label": playing ? "Pause" : "Play the log", title: playing ? "Pause" : "Play the log", onclick: play }, playing ? "❚❚" : "▶"),
    h("button", { class: "small wide-only", "aria-label": "One event back", onclick: () => (t ? wind(index - 1) : store.wantTimes()) }, "‹"),
    h("input", {
      id: "slider", type: "range", min: "0", max: String(t ? Math.max(1, n - 1) : coarse), value: String(t ? Math.max(0, index) : store.wanted >= 0 ? store.wanted * coarse : coarse), "aria-label": "Event of the log", "aria-valuetext": text,
      onfocus: () => store.wantTimes(), oninput: slide,
    }),
    h("button", { class: "small wide-only", "aria-label": "One event on", onclick: () => wind(index + 1) }, "›"),
    h("span", { class: "slider-text num" }, at && t ? [h("strong", null, t.events[index]?.[2]), ` #${t.events[index]?.[0]} · ${clock(Date.parse(t.created) + (t.events[index]?.[1] || 0))} · +${span(t.events[index]?.[1] || 0)}`]
      : store.ended ? "the end of the log" : api.link === "lost" ? "not connected" : h("span", { class: "live-dot" }, "live")),
    at && !store.offline ? h("button", { class: "small primary", onclick: () => (stop(), query({ at: null })) }, store.ended ? "To the end" : "To now") : null);
}
