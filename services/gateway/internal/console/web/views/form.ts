// Shows a form; the caller owns what is entered.

import { h, VNode } from "../core/dom";
import { changed } from "../core/page";
import type { Field } from "../core/schema";

/** formView shows fields with what was entered and the faults in it. */
export function formView(id: string, fields: Field[], entered: Record<string, unknown>, faults: Record<string, string>): VNode {
  return h("div", { class: "form" }, fields.map((f) => {
    const at = `${id}-${f.name}`;
    const wrong = faults[f.name];
    const common = {
      id: at, "aria-invalid": wrong ? "true" : null, "aria-describedby": wrong || f.about ? `${at}-about` : null,
      oninput: (e: any) => ((entered[f.name] = f.type === "flag" ? e.target.checked : e.target.value), delete faults[f.name], changed()),
    };
    if (!(f.name in entered) && f.initial !== undefined) entered[f.name] = initial(f);
    return h("div", { class: `field ${f.type}`, key: f.name },
      h("label", { for: at }, f.label || f.name, f.required ? h("span", { class: "required", title: "required" }, " *") : null),
      input(f, common, entered[f.name]),
      wrong || f.about ? h("div", { id: `${at}-about`, class: wrong ? "bad-text small-text" : "muted small-text" }, wrong ? `${f.label || f.name} ${wrong}` : f.about) : null);
  }));
}

function initial(f: Field): unknown {
  if (f.type === "choice") return String(f.choices!.indexOf(f.initial));
  if (f.type === "list" && Array.isArray(f.initial)) return f.initial.join("\n");
  if (f.type === "json") return JSON.stringify(f.initial, null, 2);
  return f.initial;
}

function input(f: Field, common: Record<string, unknown>, value: unknown): VNode {
  switch (f.type) {
    case "flag": return h("input", { ...common, type: "checkbox", checked: !!value });
    case "choice": return h("select", { ...common, value: String(value ?? ""), onchange: common.oninput }, h("option", { value: "" }, f.required ? "Choose …" : "–"), f.choices!.map((c, i) => h("option", { value: String(i), selected: String(value) === String(i) }, String(typeof c === "object" ? JSON.stringify(c) : c))));
    case "long": return h("textarea", { ...common, rows: "3", value: String(value ?? "") });
    case "list": return h("textarea", { ...common, rows: "3", placeholder: "one per line", value: String(value ?? "") });
    case "json": return h("textarea", { ...common, rows: String(f.rows || 5), class: "mono", placeholder: "JSON", spellcheck: "false", value: String(value ?? "") });
    case "number": case "integer": return h("input", { ...common, type: "number", step: f.type === "integer" ? "1" : "any", min: f.least, max: f.most, value: String(value ?? "") });
  }
  return h("input", { ...common, type: f.secret ? "password" : "text", value: String(value ?? "") });
}
