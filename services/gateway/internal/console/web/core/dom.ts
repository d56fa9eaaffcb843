// The page as a value: h describes elements, patch makes the document equal to a description. Text always becomes a text node, so
// data can never become markup. Everything is rendered this way.

export type Child = VNode | string | number | null | undefined | false | Child[];
export type Props = Record<string, any>;

export interface VNode {
  tag: string;
  props: Props;
  kids: (VNode | string)[];
  key?: string | number;
}

/** h describes an element. Among its properties, `on…` are listeners; `class`, `style` (an object, set by CSSOM), `key` (identity
 * among siblings), `value`, `checked`, `disabled`, `open` and `prop:x` are DOM properties; `ref` receives the element once made;
 * the rest are attributes, left out if null, undefined or false. */
export function h(tag: string, props: Props | null, ...kids: Child[]): VNode {
  const flat: (VNode | string)[] = [];
  flatten(kids, flat);
  return { tag, props: props || {}, kids: flat, key: props?.key };
}

function flatten(kids: Child[], out: (VNode | string)[]) {
  for (const k of kids) {
    if (k === null || k === undefined || k === false) continue;
    if (Array.isArray(k)) flatten(k, out);
    else if (typeof k === "object") out.push(k);
    else out.push(String(k));
  }
}

const SVG = "http://www.w3.org/2000/svg";
const asProperty = new Set(["value", "checked", "disabled", "open", "indeterminate", "selected", "hidden", "readOnly"]);

interface Made extends Element {
  made?: VNode;
  heard?: Record<string, (e: Event) => void>;
}

/** patch makes the children of an element equal to a description. */
export function patch(parent: Element, kids: Child[]) {
  const flat: (VNode | string)[] = [];
  flatten(kids, flat);
  patchKids(parent, flat);
}

function patchKids(parent: Element, kids: (VNode | string)[]) {
  const keyed = new Map<string | number, Made>();
  for (let n = parent.firstChild; n; n = n.nextSibling) {
    const key = (n as Made).made?.key;
    if (key !== undefined) keyed.set(key, n as Made);
  }
  let at: ChildNode | null = parent.firstChild;
  for (const kid of kids) {
    if (typeof kid === "string") {
      if (at && at.nodeType === 3) {
        if (at.nodeValue !== kid) at.nodeValue = kid;
        at = at.nextSibling;
      } else {
        parent.insertBefore(document.createTextNode(kid), at);
      }
      continue;
    }
    let old: Made | null = null;
    if (kid.key !== undefined) {
      const found = keyed.get(kid.key);
      if (found && found.made!.tag === kid.tag) {
        old = found;
        keyed.delete(kid.key);
      }
    } else if (at && (at as Made).made?.tag === kid.tag && (at as Made).made!.key === undefined) {
      old = at as Made;
    }
    if (old) {
      if (old === at) at = at.nextSibling;
      else parent.insertBefore(old, at);
      update(old, kid);
    } else {
      parent.insertBefore(make(kid, parent), at);
    }
  }
  while (at) {
    const next: ChildNode | null = at.nextSibling;
    at.remove();
    at = next;
  }
}

function make(v: VNode, parent: Element): Element {
  const svg = v.tag === "svg" || (parent.namespaceURI === SVG && parent.tagName !== "foreignObject");
  const el = (svg ? document.createElementNS(SVG, v.tag) : document.createElement(v.tag)) as Made;
  el.made = { tag: v.tag, props: {}, kids: [], key: v.key };
  update(el, v);
  v.props.ref?.(el);
  return el;
}

function update(el: Made, v: VNode) {
  const before = el.made!.props;
  const after = v.props;
  if (!after.opaque) patchKids(el, v.kids); // The content of an opaque element belongs to the code that made it.
  for (const name in before) if (!(name in after)) set(el, name, before[name], undefined);
  for (const name in after) set(el, name, before[name], after[name]);
  el.made = v;
}

function set(el: Made, name: string, before: any, after: any) {
  if (name === "key" || name === "ref" || name === "opaque") return;
  if (name.startsWith("on")) return listen(el, name.slice(2).toLowerCase(), after);
  if (name === "style") return restyle(el as unknown as HTMLElement, before || {}, after || {});
  if (name.startsWith("prop:")) {
    if (before !== after) (el as any)[name.slice(5)] = after;
    return;
  }
  if (asProperty.has(name)) {
    if ((el as any)[name] !== after) (el as any)[name] = after ?? (name === "value" ? "" : false);
    return;
  }
  if (before === after) return;
  if (after === null || after === undefined || after === false) el.removeAttribute(name);
  else el.setAttribute(name, after === true ? "" : String(after));
}

function restyle(el: HTMLElement, before: Record<string, string>, after: Record<string, string>) {
  for (const k in before) if (!(k in after)) el.style.removeProperty(k);
  for (const k in after) if (before[k] !== after[k]) el.style.setProperty(k, after[k]);
}

function listen(el: Made, type: string, f: ((e: Event) => void) | undefined) {
  el.heard ||= {};
  if (!(type in el.heard)) el.addEventListener(type, (e) => el.heard![type]?.(e));
  el.heard[type] = f as (e: Event) => void;
}

let queued = false;
const redraws = new Set<() => void>();

/** frame calls f once before the next frame, however often it is requested. */
export function frame(f: () => void) {
  redraws.add(f);
  if (queued) return;
  queued = true;
  const run = () => {
    queued = false;
    const all = [...redraws];
    redraws.clear();
    for (const f of all) f();
  };
  // A hidden page has no animation frames; this updates it in any case.
  if (document.hidden) setTimeout(run, 200);
  else requestAnimationFrame(run);
}
