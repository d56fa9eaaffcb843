//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// chromium is the path of the browser.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium on this machine: install it, on Debian with `apt-get install --no-install-recommends chromium`")
	return ""
}

// pause is the time between two looks at a page for something that is not there yet.
const pause = 50 * time.Millisecond

// screen is the size of a page.
type screen struct {
	width, height int64
	phone         bool
}

var (
	desktop = screen{1280, 800, false}
	phone   = screen{390, 844, true}
)

// view is a page of the console in a browser of its own. What must not happen is collected and fails the test at its end.
type view struct {
	testing.TB
	ctx  context.Context // Of the page. It is stored because a test has one page for all its steps.
	site string          // HOST:PORT of the gateway.

	mu      sync.Mutex // Guards what follows.
	foreign []string   // Requests to anywhere else.
	broken  []string   // Violations of the policy, errors of scripts.
}

// look opens a browser on the console of a stack, signed in.
func look(s *stack, size screen, path string) *view {
	s.Helper()
	v := launch(s.TB, s.http, size)
	v.do(chromedp.Navigate("http://" + s.http + "/?token=" + token + "#" + path))
	v.see("#title")
	return v
}

// launch starts a browser with an empty page that may load from one site only.
func launch(t testing.TB, site string, size screen) *view {
	t.Helper()
	dir := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(dir), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.Flag("disable-ipc-flooding-protection", false), // A person's browser has this protection.
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // As root, Chromium does not run in its sandbox.
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	v := &view{TB: t, ctx: ctx, site: site}
	t.Cleanup(func() {
		if t.Failed() {
			v.tell()
		}
		_ = chromedp.Cancel(ctx) // Cancel waits for the browser to end.
		end()
		cancel()
	})
	if err := chromedp.Listen(ctx, v.hear); err != nil { // Listen starts the browser, so it may not have a deadline.
		t.Fatal("browser:", err)
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		command(v, enable, cdp.Empty{})
	}
	command(v, network.Enable, network.EnableParams{})
	command(v, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: size.width, Height: size.height, DeviceScaleFactor: 1, Mobile: size.phone})
	command(v, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `document.addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI));` +
			`window.alert = () => console.error("policy: a script of a stranger ran");`,
	})
	t.Cleanup(v.clean)
	return v
}

// command sends a command of the protocol to the page.
func command[P, R any](v *view, c cdp.Command[P, R], params P) R {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		v.Fatalf("browser: %T: %v", params, err)
	}
	return r
}

// get runs an action that returns a value.
func get[T any](v *view, a chromedp.Action[T]) T {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, a)
	if err != nil {
		v.Fatal("browser:", err)
	}
	return value
}

// eval evaluates an expression of JavaScript.
func eval[T any](v *view, js string) T {
	v.Helper()
	return get(v, chromedp.Evaluate[T](js))
}

// hear records events that must not happen.
func (v *view) hear(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		at, err := url.Parse(e.Request.URL)
		if err != nil || at.Host != v.site && at.Scheme != "data" && at.Scheme != "blob" && at.Scheme != "about" && at.Scheme != "chrome" {
			v.foreign = append(v.foreign, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		v.broken = append(v.broken, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			if text := string(a.Value); strings.Contains(text, "policy: ") {
				v.broken = append(v.broken, text)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
			v.broken = append(v.broken, e.Entry.Text)
		}
	}
}

// clean fails the test if an event happened that must not.
func (v *view) clean() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, what := range v.foreign {
		v.Error("a request to elsewhere:", what)
	}
	for _, what := range v.broken {
		v.Error("in the page:", what)
	}
}

// tell logs what the page of a failed test shows.
func (v *view) tell() {
	ctx, cancel := context.WithTimeout(v.ctx, patience/9)
	defer cancel()
	if text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.hash + "\n" + document.body.innerText`)); err == nil {
		v.Logf("the page shows: %.4000s", text)
	}
	if dir := os.Getenv("BROWSER_OUT"); dir != "" {
		if picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
			_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(v.Name(), "/", "-")+".png"), picture, 0o600) // The picture only helps people.
		}
	}
}

// do runs an action that returns no value.
func (v *view) do(a chromedp.Action[chromedp.Void]) {
	v.Helper()
	get(v, a)
}

// expression waits until an expression of JavaScript is true. A page that is being reloaded has lost its context.
func (v *view) expression(js string) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](js, chromedp.WithPollingInterval(pause), chromedp.WithPollingTimeout(0)))
		if err == nil {
			return
		}
		reloading := strings.Contains(err.Error(), "context") || strings.Contains(err.Error(), "target navigated")
		if ctx.Err() != nil || !reloading {
			v.Fatalf("not within %s: %s: %v", patience, js, err)
		}
	}
}

// see waits for an element.
func (v *view) see(selector string) {
	v.Helper()
	v.expression(fmt.Sprintf("!!document.querySelector(%s)", quoted(selector)))
}

// gone waits until there is no such element.
func (v *view) gone(selector string) {
	v.Helper()
	v.expression(fmt.Sprintf("!document.querySelector(%s)", quoted(selector)))
}

// read waits until an element shows a text, in any case of letters: a style may change that.
func (v *view) read(selector, text string) {
	v.Helper()
	v.expression(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.innerText.toLowerCase().includes(%s))", quoted(selector), quoted(strings.ToLower(text))))
}

// click clicks the first element of a selector that shows a text, "" for any, as a person does with a mouse: once it stands still and
// nothing covers it.
func (v *view) click(selector, text string) {
	v.Helper()
	v.expression(fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%s)].find((e) => (e.innerText || e.value || e.ariaLabel || "").includes(%s) && e.getClientRects().length && !e.disabled);
		if (!e) return false;
		e.scrollIntoView({block: "nearest"});
		const r = e.getBoundingClientRect(), at = [r.x + r.width / 2, r.y + r.height / 2];
		const still = window.clicking?.e === e && "" + window.clicking.at === "" + at && e.contains(document.elementFromPoint(...at));
		window.clicking = {e, at};
		return still;
	})()`, quoted(selector), quoted(text)))
	at := eval[[]float64](v, "window.clicking.at")
	v.do(chromedp.MouseClickXY(at[0], at[1]))
}

// write types a text into a field.
func (v *view) write(selector, text string) {
	v.Helper()
	v.see(selector)
	eval[bool](v, fmt.Sprintf("(() => { const e = document.querySelector(%s); e.focus(); e.select?.(); return true; })()", quoted(selector)))
	v.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// keys presses keys, like a person without a mouse.
func (v *view) keys(keys ...string) {
	v.Helper()
	for _, k := range keys {
		for _, r := range k {
			events := kb.Encode(r)
			down, up := *events[0], *events[len(events)-1]
			for _, e := range events[1:] { // One key event, as from a keyboard: if the page takes the key, no character follows.
				if e.Type == kb.KeyChar {
					down.Text, down.UnmodifiedText = e.Text, e.UnmodifiedText
				}
			}
			command(v, input.DispatchKeyEvent, down)
			command(v, input.DispatchKeyEvent, up)
		}
	}
}

// tabTo waits for an element and presses Tab until it has the focus.
func (v *view) tabTo(selector, text string) {
	v.Helper()
	is := fmt.Sprintf("(e) => e.matches(%s) && (e.innerText || e.ariaLabel || '').includes(%s)", quoted(selector), quoted(text))
	v.expression("[...document.querySelectorAll('#app *')].some(" + is + ")")
	for range 80 {
		if eval[bool](v, "("+is+")(document.activeElement)") {
			return
		}
		v.keys(kb.Tab)
	}
	v.Fatalf("Tab does not lead to %s %q", selector, text)
}

// visit opens an address of the console.
func (v *view) visit(path string) {
	v.Helper()
	eval[bool](v, "(location.hash = "+quoted(path)+", true)")
	v.expression("location.hash === " + quoted("#"+path))
}

// step waits until the graph or the list of steps shows one in a state.
func (v *view) step(id, state string) {
	v.Helper()
	v.expression(fmt.Sprintf("document.querySelector('job-graph') ? (document.querySelector('job-graph').shown?.subjobs || []).some((n) => n.id === %s && n.state === %s) : !!document.querySelector(%s)",
		quoted(id), quoted(state), quoted(fmt.Sprintf("[data-node=%s][data-state=%s]", quoted(id), quoted(state)))))
}

func quoted(text string) string { return quotedJSON(text) }

// quotedJSON returns a value as a JavaScript expression.
func quotedJSON(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return "null"
	}
	return string(b)
}

// shade switches the page to the dark or light theme.
func shade(v *view, theme string) {
	v.Helper()
	eval[bool](v, "(document.documentElement.dataset.theme = "+quoted(theme)+", document.dispatchEvent(new Event('themechange')))")
}

// picture saves a screenshot if the variable PICTURES names a folder.
func picture(v *view, name string) {
	v.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	eval[bool](v, "(document.activeElement.blur(), document.querySelectorAll('.toast button').forEach((b) => b.click()), true)")
	v.expression("document.fonts.status === 'loaded' && !document.querySelector('.loading, .toast')")
	shot := get(v, chromedp.CaptureScreenshot())
	musttest.Do(v, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644))
}
