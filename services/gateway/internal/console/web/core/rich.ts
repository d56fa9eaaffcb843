// The only way for HTML into the page: Markdown, code and differences that the server has rendered and sanitised. The HTML is
// parsed into an inert document and copied element by element, so that nothing outside this list can come through even if the
// server let it.

const elements = new Set([
  "A", "B", "BLOCKQUOTE", "BR", "CODE", "DD", "DEL", "DIV", "DL", "DT", "EM", "H1", "H2", "H3", "H4", "H5", "H6", "HR", "I", "INPUT", "KBD", "LI", "OL", "P", "PRE", "S", "SPAN",
  "STRONG", "SUB", "SUP", "TABLE", "TBODY", "TD", "TFOOT", "TH", "THEAD", "TR", "UL", "SECTION",
]);
const classes = /^[a-z][a-z0-9 -]{0,60}$/i;

/** rich makes nodes of sanitised HTML. */
export function rich(html: string): DocumentFragment {
  const inert = new DOMParser().parseFromString(html, "text/html");
  const out = document.createDocumentFragment();
  copy(inert.body, out);
  return out;
}

function copy(from: Node, to: Node) {
  for (let n = from.firstChild; n; n = n.nextSibling) {
    if (n.nodeType === 3) to.appendChild(document.createTextNode(n.nodeValue || ""));
    if (n.nodeType !== 1) continue;
    const el = n as Element;
    if (!elements.has(el.tagName)) {
      if (!["SCRIPT", "STYLE", "IFRAME", "OBJECT", "TEMPLATE", "SVG", "MATH"].includes(el.tagName.toUpperCase())) copy(el, to);
      continue;
    }
    const made = document.createElement(el.tagName);
    const name = el.getAttribute("class");
    if (name && classes.test(name)) made.className = name;
    if (made instanceof HTMLAnchorElement) link(made, el.getAttribute("href"));
    if (made instanceof HTMLInputElement) box(made, el);
    for (const span of ["colspan", "rowspan", "start"]) {
      const value = el.getAttribute(span);
      if (value && /^\d{1,4}$/.test(value)) made.setAttribute(span, value);
    }
    copy(el, made);
    to.appendChild(made);
  }
}

function link(a: HTMLAnchorElement, href: string | null) {
  if (!href || !/^(https?:|mailto:)/i.test(href)) return;
  a.href = href;
  a.target = "_blank";
  a.rel = "noopener noreferrer";
}

function box(made: HTMLInputElement, from: Element) { // The box of a task list.
  made.type = "checkbox";
  made.disabled = true;
  made.checked = from.hasAttribute("checked");
}
