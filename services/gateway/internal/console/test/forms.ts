import { Field, fieldsOf, valueOf, valuesOf } from "../web/core/schema";
import { fails, rule, same } from "./kit";

const field = (type: Field["type"], more: Partial<Field> = {}): Field => ({ name: "f", type, required: false, ...more });

rule("a schema is a form with what is required first, in its order", () => {
  const fields = fieldsOf({ properties: { a: { type: "string" }, b: { type: "integer" }, c: { type: "boolean" }, d: {} }, required: ["c", "b"] })!;
  same(fields.map((f) => `${f.name} ${f.type} ${f.required}`), ["c flag true", "b integer true", "a text false", "d json false"]);
});

rule("a property has the field of its type", () => {
  const of = (s: any, name = "x") => fieldsOf({ properties: { [name]: s } })![0];
  same([
    of({ type: "string" }).type, of({ type: "string", maxLength: 500 }).type, of({ type: "string" }, "comment").type, of({ type: ["null", "number"] }).type, of({ type: "array" }).type, of({ type: "array", items: { type: "object" } }).type,
    of({ type: "object" }).type, of({ enum: [1, "2", null] }).choices, of({ const: 7 }).choices, of({ type: "string", format: "password" }).secret, of({ type: "integer", minimum: 1, maximum: 9, default: 3, title: "T", description: "D" }),
  ], ["text", "long", "long", "number", "list", "json", "json", [1, "2", null], [7], true, { name: "x", type: "integer", label: "T", about: "D", required: false, least: 1, most: 9, initial: 3, secret: false }]);
});

rule("what no form can show is none", () => {
  const many = Object.fromEntries([...Array(101).keys()].map((i) => [`p${i}`, {}]));
  same([null, "x", {}, { properties: 1 }, { properties: {}, anyOf: [] }, { properties: {}, oneOf: [] }, { properties: many }].map(fieldsOf), [null, null, null, null, null, null, null]);
});

rule("an entry becomes a value of its type", () => {
  same([
    valueOf(field("text"), "a "), valueOf(field("text"), "  "), valueOf(field("number"), "1.5"), valueOf(field("integer"), "-2"), valueOf(field("flag"), true), valueOf(field("flag"), undefined), valueOf(field("flag"), false),
    valueOf(field("choice", { choices: [1, "b", null] }), "2"), valueOf(field("list"), " a \n\n b"), valueOf(field("json"), '{"a":[1]}'), valueOf(field("text", { pattern: "^a+$" }), "aa"), valueOf(field("text", { pattern: "(?<" }), "any"),
  ], ["a ", undefined, 1.5, -2, true, undefined, false, null, ["a", "b"], { a: [1] }, "aa", "any"]);
});

rule("an entry that does not fit is named", () => {
  same([
    fails(() => valueOf(field("text", { required: true }), " ")), fails(() => valueOf(field("number"), "x")), fails(() => valueOf(field("integer"), "1.5")), fails(() => valueOf(field("integer", { least: 2 }), "1")),
    fails(() => valueOf(field("number", { most: 2 }), "2.1")), fails(() => valueOf(field("json"), "{")).slice(0, 11), fails(() => valueOf(field("text", { pattern: "^a+$" }), "ab")), fails(() => valueOf(field("number"), "Infinity")),
  ], ["is required", "is not a number", "is not a whole number", "is less than 2", "is more than 2", "is not JSON", "does not fit ^a+$", "is not a number"]);
});

rule("a form is a value, or its faults by field", () => {
  const fields = [field("text", { name: "a", required: true }), field("integer", { name: "b" }), field("flag", { name: "c" })];
  same(valuesOf(fields, { a: "x", c: false }), { value: { a: "x", c: false }, faults: {} });
  same(Object.keys(valuesOf(fields, { a: "x", c: false }).value!), ["a", "c"], "what is empty is left out");
  same(valuesOf(fields, { b: "x" }), { faults: { a: "is required", b: "is not a whole number" } });
});
