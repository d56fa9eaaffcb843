// The page without a valid token.

import { h, VNode } from "../core/dom";

/** signIn asks for a token; denied says that the address contained an invalid one. */
export function signIn(denied: boolean, reason: string): VNode {
  const enter = (e: Event) => {
    e.preventDefault();
    const token = (document.getElementById("token") as HTMLInputElement).value.trim();
    if (token) location.href = "/?token=" + encodeURIComponent(token) + location.hash;
  };
  return h("main", { class: "signin" },
    h("form", { onsubmit: enter },
      h("h1", { id: "title", tabindex: "-1" }, "Jobgraph"),
      h("p", { class: denied ? "bad-text" : "", role: denied ? "alert" : null }, denied ? "This token is unknown, revoked or expired." : (reason ? reason[0].toUpperCase() + reason.slice(1) + "." : "This console needs a token.")),
      h("label", { for: "token" }, "Token"),
      h("input", { id: "token", type: "password", autocomplete: "current-password", autofocus: true, required: true }),
      h("button", { class: "primary", type: "submit" }, "Open the console"),
      h("p", { class: "muted" }, h("code", null, "jobgraph up"), " prints the address of the console with its token, which ends with that process. An operator gives tokens of users in the gateway's file of tokens.")));
}
