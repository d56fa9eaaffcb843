// Forms from JSON Schema, and the values that people enter. The server checks every answer again; the checks here help the person
// who types.

/** Field is one entry of a form. */
export interface Field {
  name: string; type: "text" | "long" | "number" | "integer" | "flag" | "choice" | "list" | "json"; about?: string; required: boolean; choices?: unknown[]; least?: number; most?: number;
  label?: string; rows?: number; initial?: unknown; pattern?: string; secret?: boolean;
}

/** fieldsOf reads the fields of an object schema; null if a form cannot show the schema. */
export function fieldsOf(schema: any): Field[] | null {
  if (!schema || typeof schema !== "object") return null;
  const properties = schema.properties;
  if (!properties || typeof properties !== "object" || schema.anyOf || schema.oneOf) return null;
  const required: string[] = Array.isArray(schema.required) ? schema.required : [];
  const names = Object.keys(properties);
  if (names.length > 100) return null;
  // Required fields come first, in the order in which the schema requires them.
  const rank = (n: string) => (required.includes(n) ? required.indexOf(n) : required.length + names.indexOf(n));
  return names.sort((a, b) => rank(a) - rank(b)).map((name) => field(name, properties[name] || {}, required.includes(name)));
}

function field(name: string, s: any, required: boolean): Field {
  const kind = Array.isArray(s.type) ? s.type.find((t: string) => t !== "null") : s.type;
  const f: Field = { name, type: "json", label: s.title, about: s.description, required, initial: s.default, pattern: s.pattern, least: s.minimum, most: s.maximum };
  if (Array.isArray(s.enum)) return { ...f, type: "choice", choices: s.enum };
  if (s.const !== undefined) return { ...f, type: "choice", choices: [s.const] };
  if (kind === "string") f.type = (s.maxLength || 0) > 200 || /text|note|reason|comment|body|prompt/i.test(name) ? "long" : "text";
  else if (kind === "integer" || kind === "number") f.type = kind;
  else if (kind === "boolean") f.type = "flag";
  else if (kind === "array" && (s.items?.type === "string" || !s.items)) f.type = "list";
  f.secret = s.format === "password" || s.writeOnly === true;
  return f;
}

/** valueOf converts what a person entered; it throws an Error that names the problem. undefined leaves the field out. */
export function valueOf(f: Field, entered: unknown): unknown {
  if (f.type === "flag") return entered === undefined ? undefined : !!entered;
  const text = String(entered ?? "");
  if (text.trim() === "") {
    if (f.required) throw new Error("is required");
    return undefined;
  }
  switch (f.type) {
    case "choice": return f.choices![Number(text)];
    case "number": case "integer": {
      const n = Number(text);
      if (!isFinite(n) || (f.type === "integer" && !Number.isInteger(n))) throw new Error(f.type === "integer" ? "is not a whole number" : "is not a number");
      if (f.least !== undefined && n < f.least) throw new Error(`is less than ${f.least}`);
      if (f.most !== undefined && n > f.most) throw new Error(`is more than ${f.most}`);
      return n;
    }
    case "list": return text.split("\n").map((s) => s.trim()).filter(Boolean);
    case "json":
      try {
        return JSON.parse(text);
      } catch (e: any) {
        throw new Error(`is not JSON: ${e.message}`);
      }
  }
  if (f.pattern) {
    let fits = true;
    try {
      fits = new RegExp(f.pattern, "u").test(text);
    } catch { /* The server knows patterns that browsers do not. */ }
    if (!fits) throw new Error(`does not fit ${f.pattern}`);
  }
  return text;
}

/** valuesOf converts a whole form: the value, or the faults by field. */
export function valuesOf(fields: Field[], entered: Record<string, unknown>): { value?: Record<string, unknown>; faults: Record<string, string> } {
  const value: Record<string, unknown> = {}, faults: Record<string, string> = {};
  for (const f of fields) {
    try {
      const v = valueOf(f, entered[f.name]);
      if (v !== undefined) value[f.name] = v;
    } catch (e: any) {
      faults[f.name] = e.message;
    }
  }
  return Object.keys(faults).length ? { faults } : { value, faults };
}
