// <job-graph>: the graph of a job on a canvas, with pan, zoom, a small map and the keyboard. Its owner sets `graph` and the marks; it sends the
// events "pick" (a SubJob was chosen, detail is its id) and "fold" (detail is the name of a group).

import { span } from "../core/format";
import type { Graph, Node } from "../core/types";
import { Camera, lineOf, Marks, paint, Palette, paletteOf, stateOfBox } from "./paint";
import { Box, hit, nearest, Scene, sceneOf } from "./scene";

const mapWidth = 168, mapHeight = 104;

export class JobGraph extends HTMLElement {
  private canvas = document.createElement("canvas");
  private map = document.createElement("canvas");
  private said = document.createElement("div");
  private scene: Scene | null = null;
  private shown: Graph | null = null;
  private cam: Camera = { x: 0, y: 0, k: 1 };
  private fitted = false;
  private steered = false; // Whether the reader has moved or zoomed: then the view stays as they left it.
  private palette: Palette | null = null;
  private marks: Marks = { selected: "", current: "", dim: null, now: Date.now() };
  private foldedGroups = new Set<string>();
  private pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private queued = 0;
  private ticking = 0;
  private sizes: ResizeObserver | null = null;
  private scheme = matchMedia("(prefers-color-scheme: dark)");

  connectedCallback() {
    this.tabIndex = 0;
    this.setAttribute("role", "application");
    this.setAttribute("aria-roledescription", "graph of steps");
    this.canvas.setAttribute("aria-hidden", "true");
    this.map.setAttribute("aria-hidden", "true");
    this.map.className = "map";
    this.said.className = "sr";
    this.said.setAttribute("role", "status");
    this.replaceChildren(this.canvas, this.map, this.said);
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this);
    this.scheme.addEventListener("change", this.retheme);
    document.addEventListener("themechange", this.retheme);
    this.listen();
    this.ticking = window.setInterval(() => {
      if (!document.hidden && !this.frozen && this.shown?.subjobs.some((n) => n.state === "running" || n.wait_until)) this.draw();
    }, 1000);
  }

  disconnectedCallback() {
    this.sizes?.disconnect();
    clearInterval(this.ticking);
    cancelAnimationFrame(this.queued);
    this.queued = 0;
    this.scheme.removeEventListener("change", this.retheme);
    document.removeEventListener("themechange", this.retheme);
  }

  /** frozen is the time at which elapsed times end, for a graph of the past; 0 means now. */
  frozen = 0;

  set graph(g: Graph | null) {
    if (g === this.shown) {
      this.draw();
      return;
    }
    const fresh = !this.shown || (g && g.plan_version !== this.shown.plan_version);
    this.shown = g;
    this.scene = g && sceneOf(g, this.foldedGroups);
    if (fresh && g?.subjobs.length) {
      this.resize();
      if (!this.fitted || !this.steered) this.fit();
    }
    this.draw();
  }

  set folded(names: Set<string>) {
    if (names === this.foldedGroups) return;
    this.foldedGroups = names;
    if (this.shown) this.scene = sceneOf(this.shown, names);
    if (!this.steered) this.fit();
    this.draw();
  }

  set selected(id: string) {
    if (id === this.marks.selected) return;
    this.marks.selected = id;
    if (id) {
      this.marks.current = this.scene?.byID.get(id)?.id || id;
      this.reveal(id, false);
    }
    this.draw();
  }

  set dim(f: ((n: Node) => boolean) | null) {
    this.marks.dim = f;
    this.draw();
  }

  private retheme = () => {
    this.palette = null;
    this.draw();
  };

  private resize() {
    const ratio = devicePixelRatio || 1;
    const w = this.clientWidth, h = this.clientHeight;
    if (!w || !h) return;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
      if (this.scene && (!this.fitted || !this.steered)) this.fit();
      if (this.marks.selected) this.reveal(this.marks.selected, false);
    }
    this.draw();
  }

  /** draw paints before the next frame. */
  draw() {
    if (!this.queued) this.queued = requestAnimationFrame(() => this.now());
  }

  private now() {
    this.queued = 0;
    const c = this.canvas.getContext("2d");
    if (!c || !this.scene) return;
    const ratio = devicePixelRatio || 1;
    this.palette ||= paletteOf(this);
    this.marks.now = this.frozen || Date.now();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const marks = document.activeElement === this ? this.marks : { ...this.marks, current: "" };
    paint(c, this.scene, this.cam, this.clientWidth, this.clientHeight, this.palette, marks);
    this.drawMap();
  }

  private drawMap() {
    const s = this.scene!;
    const all = this.clientWidth / this.cam.k >= s.width && this.clientHeight / this.cam.k >= s.height;
    this.map.hidden = all || this.clientWidth < 560 || s.boxes.length < 40;
    if (this.map.hidden) return;
    const ratio = devicePixelRatio || 1;
    const p = this.palette!;
    const k = this.mapScale();
    const w = Math.ceil(s.width * k), h = Math.ceil(s.height * k);
    this.map.width = w * ratio;
    this.map.height = h * ratio;
    this.map.style.setProperty("width", `${w}px`);
    this.map.style.setProperty("height", `${h}px`);
    const c = this.map.getContext("2d")!;
    c.setTransform(ratio * k, 0, 0, ratio * k, -s.x * ratio * k, -s.y * ratio * k);
    for (const b of s.boxes) {
      c.fillStyle = p[stateOfBox(b)];
      c.fillRect(b.x, b.y, Math.max(1 / k, b.w), Math.max(1 / k, b.h));
    }
    c.strokeStyle = p.accent;
    c.lineWidth = 1.5 / k;
    c.strokeRect(this.cam.x, this.cam.y, this.clientWidth / this.cam.k, this.clientHeight / this.cam.k);
  }

  private mapScale(): number {
    return Math.min(mapWidth / this.scene!.width, mapHeight / this.scene!.height);
  }

  /** fit shows the whole graph as long as it stays legible, otherwise its beginning. */
  fit(all = false) {
    if (all) this.steered = false;
    const s = this.scene;
    const w = this.clientWidth, h = this.clientHeight;
    if (!s || !w || !h) return;
    const pad = 28;
    const whole = Math.min((w - 2 * pad) / s.width, (h - 2 * pad) / s.height);
    const legible = all ? 0.005 : s.boxes.length > 400 ? 0.02 : w < 560 ? 0.6 : 0.45;
    const k = Math.min(1.15, Math.max(whole, legible));
    const middle = s.x + (s.width - w / k) / 2;
    this.cam = { k, x: middle, y: s.height * k + 2 * pad < h ? s.y + (s.height - h / k) / 2 : s.y - pad / k };
    this.fitted = true;
    this.draw();
  }

  /** zoom changes the scale around a point of the element, by default its middle. */
  zoom(by: number, px = this.clientWidth / 2, py = this.clientHeight / 2) {
    this.steered = true;
    const k = Math.min(3, Math.max(0.005, this.cam.k * by));
    const x = this.cam.x + px / this.cam.k, y = this.cam.y + py / this.cam.k;
    this.cam = { k, x: x - px / k, y: y - py / k };
    this.draw();
  }

  /** reveal moves a SubJob into view, and zooms in if its words are illegible. */
  reveal(id: string, closer = true) {
    const b = this.scene?.byID.get(id);
    if (!b || !this.clientWidth) return;
    if (closer && this.cam.k < 0.4 && this.steered) this.cam.k = 0.8; // An overview stays one until the reader zooms in.
    const w = this.clientWidth / this.cam.k, h = this.clientHeight / this.cam.k;
    const pad = 20 / this.cam.k;
    if (b.x < this.cam.x + pad || b.x + b.w > this.cam.x + w - pad) this.cam.x = b.x + b.w / 2 - w / 2;
    if (b.y < this.cam.y + pad || b.y + b.h > this.cam.y + h - pad) this.cam.y = b.y + b.h / 2 - h / 2;
    this.draw();
  }

  private listen() {
    const c = this.canvas;
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      this.pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
      if (this.pointers.size === 1) this.moved = 0;
    });
    c.addEventListener("pointermove", (e) => this.drag(e));
    const up = (e: PointerEvent) => {
      const held = this.pointers.delete(e.pointerId);
      if (held && e.type === "pointerup" && this.moved < 5 && this.pointers.size === 0) this.tap(e);
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      const r = c.getBoundingClientRect();
      this.zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0016)), e.clientX - r.left, e.clientY - r.top);
    }, { passive: false });
    this.map.addEventListener("pointerdown", (e) => {
      this.map.setPointerCapture(e.pointerId);
      this.jump(e);
    });
    this.map.addEventListener("pointermove", (e) => {
      if (e.buttons) this.jump(e);
    });
    this.addEventListener("keydown", (e) => this.key(e));
    this.addEventListener("focus", () => {
      if (!this.marks.current) this.marks.current = this.scene?.boxes[0]?.id || "";
      this.say();
      this.draw();
    });
    this.addEventListener("blur", () => this.draw());
  }

  private drag(e: PointerEvent) {
    const old = this.pointers.get(e.pointerId);
    if (!old) return this.hover(e);
    const others = [...this.pointers].filter(([id]) => id !== e.pointerId);
    const dx = e.clientX - old.x, dy = e.clientY - old.y;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved > 4) this.steered = true;
    if (others.length === 0) {
      this.cam.x -= dx / this.cam.k;
      this.cam.y -= dy / this.cam.k;
    } else {
      const [, o] = others[0];
      const before = Math.hypot(old.x - o.x, old.y - o.y), after = Math.hypot(e.clientX - o.x, e.clientY - o.y);
      const r = this.canvas.getBoundingClientRect();
      if (before > 0) this.zoom(after / before, (e.clientX + o.x) / 2 - r.left, (e.clientY + o.y) / 2 - r.top);
    }
    this.pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    this.draw();
  }

  private at(e: PointerEvent): Box | null {
    const r = this.canvas.getBoundingClientRect();
    return this.scene && hit(this.scene, this.cam.x + (e.clientX - r.left) / this.cam.k, this.cam.y + (e.clientY - r.top) / this.cam.k);
  }

  private hover(e: PointerEvent) {
    const b = this.at(e);
    this.canvas.title = b ? `${b.label}${b.node ? ` · ${b.node.state}${b.node.reason ? ": " + b.node.reason : ""}` : ""}` : "";
    this.canvas.classList.toggle("over", !!b);
  }

  private tap(e: PointerEvent) {
    const b = this.at(e);
    if (!b) return this.send("pick", "");
    this.choose(b);
  }

  private choose(b: Box) {
    this.marks.current = b.id;
    if (b.members) this.send("fold", b.label);
    else this.send("pick", b.id);
  }

  private send(type: string, detail: string) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  private jump(e: PointerEvent) {
    this.steered = true;
    const r = this.map.getBoundingClientRect();
    const k = this.mapScale();
    const s = this.scene!;
    this.cam.x = s.x + (e.clientX - r.left) / k - this.clientWidth / this.cam.k / 2;
    this.cam.y = s.y + (e.clientY - r.top) / k - this.clientHeight / this.cam.k / 2;
    this.draw();
  }

  private key(e: KeyboardEvent) {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.scene) return;
    const box = this.scene.byID.get(this.marks.current) || this.scene.boxes[0];
    const go: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    let to: Box | null | undefined = null;
    if (go[e.key] && box) to = nearest(this.scene, box, ...go[e.key]);
    else if (e.key === "Home") to = this.scene.boxes[0];
    else if (e.key === "End") to = this.scene.boxes.at(-1);
    else if (e.key === "+" || e.key === "=") this.zoom(1.25);
    else if (e.key === "-") this.zoom(0.8);
    else if (e.key === "0") this.fit(true);
    else if ((e.key === "Enter" || e.key === " ") && box) this.choose(box);
    else if (e.key === "f" && box) this.send("fold", box.members ? box.label : box.node?.group || "");
    else return;
    e.preventDefault();
    if (!to) return;
    this.marks.current = to.id;
    this.steered = true;
    this.reveal(to.id);
    this.say();
  }

  private say() {
    const b = this.scene?.byID.get(this.marks.current);
    if (!b) return;
    const n = b.node;
    const links = this.scene!.links;
    const after = links.filter((l) => l.to === b).length, before = links.filter((l) => l.from === b).length;
    const state = n ? `${n.state}, ${lineOf(n, this.frozen || Date.now())}` : `group of ${b.members!.length} steps`;
    const took = n?.state === "running" && n.started ? `, running for ${span((this.frozen || Date.now()) - Date.parse(n.started))}` : "";
    this.said.textContent = `${b.label}: ${state}${took}; ${after} before it, ${before} after it`;
  }
}

/** register makes the element known to the page. */
export function register() {
  customElements.define("job-graph", JobGraph);
}
