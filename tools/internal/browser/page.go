package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/chromedp"
)

// The limits of one call.
const (
	// MaxText is how much text of a page one call shows, in bytes.
	MaxText = 32 << 10
	// mostElements is how many elements of a page are listed.
	mostElements = 100
	openTime     = 45 * time.Second
	actTime      = 20 * time.Second
	// settleTime is how long a page may continue to load after a click.
	settleTime = 5 * time.Second
)

// errNoPage is the error of calls that need a page.
var errNoPage = errors.New("no page is open: open one first")

// Seen is a page as a model sees it.
type Seen struct {
	Title    string   `json:"title"`
	Address  string   `json:"address"`
	Text     string   `json:"text"`
	Elements []string `json:"elements"`
	More     bool     `json:"more"` // More says that not all elements are listed.
}

// look runs in the page: it returns the text and what can be clicked or filled, each with a number for later calls.
const look = `(() => {
  const shown = e => { const r = e.getBoundingClientRect(), s = getComputedStyle(e); return r.width > 0 && r.height > 0 && s.visibility !== "hidden" && s.display !== "none"; };
  const words = t => (t || "").replace(/\s+/g, " ").trim().slice(0, 80);
  document.querySelectorAll("[data-jobgraph]").forEach(e => e.removeAttribute("data-jobgraph"));
  const list = []; let number = 0, more = false;
  for (const e of document.querySelectorAll("a[href],button,input,select,textarea,summary,[role=button],[role=link],[onclick],[contenteditable=true]")) {
    if (!shown(e) || e.type === "hidden") continue;
    if (list.length >= MOST) { more = true; break; }
    e.setAttribute("data-jobgraph", ++number);
    const tag = e.tagName.toLowerCase();
    const label = words(e.innerText) || words(e.getAttribute("aria-label")) || words(e.placeholder) || words(e.labels && e.labels[0] && e.labels[0].innerText) || words(e.title) || words(e.alt);
    let row = "[" + number + "] " + (tag === "a" ? "link" : tag) + (tag === "input" ? " " + e.type : "") + (e.name ? " " + e.name : "") + (label ? ' "' + label + '"' : "");
    if (tag === "a") row += " " + e.href.slice(0, 200);
    if (tag === "select") row += " of " + [...e.options].slice(0, 20).map(o => words(o.text)).join(", ");
    else if (e.type === "checkbox" || e.type === "radio") row += e.checked ? " (on)" : " (off)";
    else if (tag !== "a" && e.value && e.type !== "password") row += ' = "' + words(e.value) + '"';
    list.push(row);
  }
  return JSON.stringify({title: document.title, address: location.href, text: document.body ? document.body.innerText : "", elements: list, more});
})()`

// Open opens an address and shows the page.
func (b *Browser) Open(ctx context.Context, address string) (string, error) {
	u, err := webAddress(address)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.start(); err != nil {
		return "", err
	}
	b.proxy.forget(u.Hostname())
	_, err = call(ctx, b, openTime, chromedp.Navigate(u.String()))
	if why := b.proxy.why(u.Hostname()); why != "" && !errors.Is(err, errGone) {
		return "", fmt.Errorf("%s cannot be reached: %s", u.Host, why)
	}
	if err != nil {
		return "", fmt.Errorf("open %s: %w", u, err)
	}
	return b.show(ctx, 0)
}

// Read shows the open page, its text starting at an offset in bytes.
func (b *Browser) Read(ctx context.Context, offset int) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page == nil {
		return "", errNoPage
	}
	return b.show(ctx, offset)
}

// show reads the page. b.mu is held.
func (b *Browser) show(ctx context.Context, offset int) (string, error) {
	text, err := call(ctx, b, actTime, chromedp.Evaluate[string](strings.Replace(look, "MOST", strconv.Itoa(mostElements), 1)))
	if err != nil {
		return "", err
	}
	var seen Seen
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		return "", fmt.Errorf("the page cannot be read: %w", err)
	}
	return seen.format(offset), nil
}

// format writes a page for a model.
func (s *Seen) format(offset int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", s.Title, s.Address)
	at := min(max(offset, 0), len(s.Text))
	for at < len(s.Text) && !utf8.RuneStart(s.Text[at]) {
		at++
	}
	rest := s.Text[at:]
	text := strings.ToValidUTF8(rest[:min(len(rest), MaxText)], "")
	b.WriteString(strings.TrimSpace(text))
	if left := len(rest) - len(text); left > 0 {
		fmt.Fprintf(&b, "\n[%d further bytes: read with offset %d]", left, at+len(text))
	}
	if offset > 0 {
		return b.String()
	}
	if len(s.Elements) > 0 {
		b.WriteString("\n\nelements\n" + strings.Join(s.Elements, "\n"))
	}
	if s.More {
		fmt.Fprintf(&b, "\n[further elements are not listed: name them by a CSS selector]")
	}
	return b.String()
}

// Target names an element of the page.
type Target struct {
	// Element is its number in the list of the last call; 0 if Selector is used.
	Element int
	// Selector is a CSS selector.
	Selector string
}

func (t Target) query() (string, error) {
	switch {
	case t.Element > 0:
		return fmt.Sprintf("[data-jobgraph=%q]", fmt.Sprint(t.Element)), nil
	case t.Selector != "":
		return t.Selector, nil
	}
	return "", errors.New("bad arguments: name an element by its number, or by a CSS selector")
}

// find checks that a target exists: waiting for it would take all the time of the call. b.mu is held.
func (b *Browser) find(ctx context.Context, t Target) (string, error) {
	query, err := t.query()
	if err != nil {
		return "", err
	}
	if b.page == nil {
		return "", errNoPage
	}
	name, err := json.Marshal(query)
	if err != nil {
		return "", err
	}
	test := fmt.Sprintf(`(() => { try { return document.querySelectorAll(%s).length } catch { return -1 } })()`, name)
	count, err := call(ctx, b, actTime, chromedp.Evaluate[int](test))
	if err != nil {
		return "", err
	}
	switch {
	case count < 0:
		return "", fmt.Errorf("bad arguments: %q is no CSS selector", query)
	case count == 0 && t.Element > 0:
		return "", fmt.Errorf("there is no element %d: read lists those of the page as it is now", t.Element)
	case count == 0:
		return "", fmt.Errorf("no element of the page fits %q", query)
	}
	return query, nil
}

// Click clicks an element and shows the resulting page.
func (b *Browser) Click(ctx context.Context, t Target) (string, error) {
	return b.act(ctx, t, func(query string) chromedp.Action[chromedp.Void] {
		return chromedp.Steps(chromedp.ScrollIntoView(chromedp.CSS(query)), chromedp.Click(chromedp.CSS(query), chromedp.NodeVisible))
	})
}

// Fill puts a text into a field, or selects that option, and shows the page; with submit it sends the form.
func (b *Browser) Fill(ctx context.Context, t Target, text string, submit bool) (string, error) {
	return b.act(ctx, t, func(query string) chromedp.Action[chromedp.Void] {
		name, _ := json.Marshal(query) // A string can always be encoded.
		value, _ := json.Marshal(text)
		filled := chromedp.Evaluate[chromedp.Void](fmt.Sprintf(fillIn, name, value))
		if submit {
			return chromedp.Steps(filled, chromedp.Submit(chromedp.CSS(query)))
		}
		return filled
	})
}

// fillIn sets the value of a field as a person would, so that the page notices.
const fillIn = `((query, text) => {
  const e = document.querySelector(query);
  e.focus();
  if (e.tagName === "SELECT") {
    const option = [...e.options].find(o => o.value === text || o.text.trim() === text.trim());
    if (!option) throw new Error("there is no option " + text);
    e.value = option.value;
  } else if (e.type === "checkbox" || e.type === "radio") e.checked = text !== "" && text !== "off" && text !== "false";
  else if (e.isContentEditable) e.innerText = text;
  else {
    const set = Object.getOwnPropertyDescriptor(e.tagName === "TEXTAREA" ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype, "value").set;
    set.call(e, text);
  }
  e.dispatchEvent(new Event("input", {bubbles: true}));
  e.dispatchEvent(new Event("change", {bubbles: true}));
})(%s, %s)`

// act does something to an element, waits until the page has loaded, and shows it.
func (b *Browser) act(ctx context.Context, t Target, action func(query string) chromedp.Action[chromedp.Void]) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	query, err := b.find(ctx, t)
	if err != nil {
		return "", err
	}
	if _, err := call(ctx, b, actTime, action(query)); err != nil {
		return "", err
	}
	// A page that is still loading is shown as it is.
	_, err = call(ctx, b, settleTime, chromedp.Poll[bool](`document.readyState === "complete"`, chromedp.WithPollingInterval(100*time.Millisecond)))
	if errors.Is(err, errGone) || ctx.Err() != nil {
		return "", err
	}
	return b.show(ctx, 0)
}

// Screenshot takes a picture of the page as PNG: the visible part, or all of it.
func (b *Browser) Screenshot(ctx context.Context, whole bool) (png []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page == nil {
		return nil, errNoPage
	}
	if whole {
		return call(ctx, b, actTime, chromedp.FullScreenshot(100))
	}
	return call(ctx, b, actTime, chromedp.CaptureScreenshot())
}
