package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium with one page. The first call starts it, and so does the first call after it has ended. Calls run
// one after the other.
type Browser struct {
	program string
	temp    string
	proxy   *proxy

	mu      sync.Mutex // Held during a call; guards the fields below.
	page    context.Context
	end     context.CancelFunc
	crashed *crash // Notices a crash of the page.
}

// crash is closed when a page has crashed.
type crash struct {
	once sync.Once
	seen chan struct{}
}

func (c *crash) happen() { c.once.Do(func() { close(c.seen) }) }

// New prepares a browser without starting anything. line is the connection to the relay of the runner, program the path of
// Chromium, temp a folder for its files.
func New(program, temp string, line *os.File) (*Browser, error) {
	p, err := newProxy(line)
	if err != nil {
		return nil, err
	}
	return &Browser{program: program, temp: temp, proxy: p}, nil
}

// Close ends Chromium, if it runs.
func (b *Browser) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	b.proxy.close()
}

// stop ends Chromium. b.mu is held.
func (b *Browser) stop() {
	if b.end != nil {
		b.end()
	}
	b.page, b.end, b.crashed = nil, nil, nil
}

// options returns the options of Chromium: without its own sandbox, which needs rights that the surrounding sandbox has taken away,
// and without anything that reaches the web apart from the page. A pipe connects it with this process.
func (b *Browser) options() []chromedp.ExecAllocatorOption {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(b.program), chromedp.UserDataDir(filepath.Join(b.temp, "chromium")), chromedp.ProxyServer(b.proxy.address()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900), chromedp.Env("HOME="+b.temp, "TMPDIR="+b.temp),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"), chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"))
	for _, name := range []string{
		"disable-component-update", "disable-domain-reliability", "disable-crash-reporter", "mute-audio", "no-pings", "deny-permission-prompts", "disable-quic",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	return options
}

// errGone is the error of a call whose browser has ended.
var errGone = errors.New("the browser has crashed: the next call starts another one without a page, so open the page again, or another one that asks less of it")

// start starts Chromium if it does not run. b.mu is held.
func (b *Browser) start() error {
	if b.page != nil && b.page.Err() == nil {
		return nil
	}
	b.stop()
	runs, end := chromedp.NewExecAllocator(context.Background(), b.options()...)
	page, close := chromedp.NewContext(runs)
	b.end = func() { close(); end() }
	crashed := &crash{seen: make(chan struct{})}
	_, err := chromedp.Run(page, func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) { // It lives as long as the page.
		_, err = chromedp.CallBrowser(ctx, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{Behavior: protocol.SetDownloadBehaviorBehaviorDeny})
		return none, err
	})
	if err == nil {
		err = chromedp.Listen(page, func(event any) {
			if _, is := event.(*inspector.EventTargetCrashed); is {
				crashed.happen()
			}
		})
	}
	if err != nil {
		b.stop()
		return fmt.Errorf("the browser %s cannot be started: %w", b.program, err)
	}
	b.page, b.crashed = page, crashed
	return nil
}

// call executes a call on the page. b.mu is held.
func call[T any](ctx context.Context, b *Browser, limit time.Duration, action chromedp.Action[T]) (value T, err error) {
	bounded, end := context.WithTimeout(b.page, limit)
	defer end()
	defer context.AfterFunc(ctx, end)()
	value, err = try(bounded, end, b.crashed, action)
	switch late := errors.Is(err, context.DeadlineExceeded); {
	case err == nil:
		return value, nil
	case ctx.Err() != nil:
		return value, context.Cause(ctx)
	case !b.answers() && late:
		b.stop()
		return value, fmt.Errorf("the page hangs: it has done nothing for %s, and its browser was ended; open another one", limit)
	case b.page == nil || b.page.Err() != nil:
		b.stop()
		return value, errGone
	case late:
		return value, fmt.Errorf("the page has not done that within %s", limit)
	}
	return value, err
}

// answerTime is how long a page may take to answer.
const answerTime = 5 * time.Second

// answers reports whether the page still responds; if not, the browser has no page any more. b.mu is held.
func (b *Browser) answers() bool {
	bounded, end := context.WithTimeout(b.page, answerTime)
	defer end()
	_, err := try(bounded, end, b.crashed, chromedp.Evaluate[int]("1"))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		b.stop()
	}
	return err == nil
}

// try executes a call, which ends if the page crashes.
func try[T any](bounded context.Context, end func(), crashed *crash, action chromedp.Action[T]) (value T, err error) {
	done := make(chan struct{})
	go func() { // Ends with the call, at the latest with bounded; awaited below.
		defer close(done)
		value, err = chromedp.Run(bounded, action)
	}()
	select {
	case <-done:
	case <-crashed.seen:
		end()
		<-done
		err = errGone
	}
	return value, err
}

// webAddress checks an address given by a model.
func webAddress(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("bad arguments: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("only http and https addresses are opened")
	case u.User != nil:
		return nil, errors.New("an address with a user or password is not opened")
	}
	return u, nil
}
