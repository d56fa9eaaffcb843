// The same actions from a terminal: each as a command of the CLI and as a request on the bus. Pure.

import { quote } from "./format";

/** cliOf returns the command for a verb with its input. */
export function cliOf(verb: string, job: string, input: Record<string, any>): string {
  const at = input.subjob ? `${job}/${input.subjob}` : job;
  const words = ["jobgraph"];
  const flag = (name: string, value: unknown) => value !== undefined && value !== "" && words.push(`--${name}`, quote(typeof value === "string" ? value : JSON.stringify(value)));
  switch (verb) {
    case "stop": case "fail":
      words.push(verb, quote(at));
      if (input.only) words.push("--only");
      flag("reason", input.reason);
      break;
    case "recover":
      words.push("recover", quote(job));
      flag("from", input.from);
      break;
    case "rerun":
      words.push("rerun", quote(at));
      if (input.edit) return `printf %s ${quote(JSON.stringify(input.edit))} > edit.json; ${words.join(" ")} --edit edit.json`;
      break;
    case "edit":
      return `printf %s ${quote(JSON.stringify(input.plan ?? {}))} | jobgraph plan update ${quote(job)} -f -`;
    case "fork":
      words.push("fork", quote(job));
      for (const name of ["at", "before", "model", "expert", "prompt", "result"]) flag(name, input[name]);
      flag("id", input.new_id);
      break;
    case "answer":
      if (input.action === "cancelled") words.push("inputs", "cancel", quote(job), quote(input.request));
      else words.push("answer", quote(job), quote(input.request), quote(typeof input.answer === "string" ? input.answer : JSON.stringify(input.answer ?? "…")));
      break;
    case "delete":
      words.push("delete", quote(job), "--force");
      break;
    default:
      words.push(verb, quote(at));
  }
  return words.join(" ");
}

const onBus = new Set(["submit", "delete", "answer", "stop", "fail", "recover", "retry", "rerun", "edit"]);

/** natsOf returns the request for a verb on the bus; empty for a verb that only the gateway has. */
export function natsOf(verb: string, job: string, input: Record<string, any>): string {
  return onBus.has(verb) ? `nats req jobs.api.${verb} ${quote(JSON.stringify({ id: job, ...input }))}` : "";
}

/** readTwins returns the commands that show the same as a page: of the CLI, with the id of the input as its argument and the other
 * fields as flags, and on the bus. */
export function readTwins(verb: string, input: Record<string, string>): [label: string, command: string][] {
  const { id, ...flags } = input;
  const words = ["jobgraph", verb, ...(id ? [quote(id)] : []), ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, quote(value)])];
  return [["CLI", words.join(" ")], ["NATS", `nats req jobs.api.${verb} ${quote(JSON.stringify(input))}`]];
}
