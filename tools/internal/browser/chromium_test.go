//go:build browser

package browser

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// shop is a site with a form, a link, and a text that a script makes.
func shop(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	page := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ASKED", r.URL.RawQuery)) // The browser notices a failure.
		}
	}
	mux.HandleFunc("/", page(`<title>Shop</title><h1>Welcome</h1><form action=/found><input name=q placeholder=Search>
		<select name=kind><option value=a>Apples</option><option value=b>Bees</option></select><input type=checkbox name=new><button>Go</button></form>
		<a href=/next>Next</a><a href=/ style="display:none">Hidden</a><p id=s></p><script>s.innerText = "made by a script"</script>`))
	mux.HandleFunc("/found", page(`<title>Found</title>You asked for ASKED`))
	mux.HandleFunc("/next", page(`<title>Next</title><div style="height:3000px;background:red">tall</div><a href="http://10.0.0.1/">private</a>`))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// chromium returns a browser whose relay reaches only this machine.
func chromium(t *testing.T) (*Browser, *relay) {
	t.Helper()
	program := ""
	for _, name := range []string{"/usr/lib/chromium/chromium-headless-shell", "chrome-headless-shell", "chromium-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Fatal("there is no headless shell of Chromium; on Debian: apt-get install chromium-headless-shell")
	}
	r := &relay{allowed: func(address string) bool { return strings.HasPrefix(address, "127.0.0.1:") }}
	b, err := New(program, t.TempDir(), r.line(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, r
}

func gives(t *testing.T, said string, err error, wanted ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			t.Fatalf("it does not say %q:\n%s", want, said)
		}
	}
}

func fails(t *testing.T, said string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q; it says %s", err, want, said)
	}
}

func TestAPersonsWayThroughASite(t *testing.T) {
	site := shop(t)
	b, r := chromium(t)
	ctx := t.Context()
	said, err := b.Read(ctx, 0)
	fails(t, said, err, "no page is open")
	said, err = b.Open(ctx, site.URL)
	gives(t, said, err, "Shop\n"+site.URL+"/\n", "Welcome", "made by a script", `[1] input text q "Search"`, `[2] select kind`, "of Apples, Bees", "[3] input checkbox new (off)", `[4] button "Go"`, `[5] link "Next" `+site.URL+"/next")
	if strings.Contains(said, "Hidden") {
		t.Errorf("what is hidden is listed:\n%s", said)
	}
	_, err = b.Fill(ctx, Target{Element: 2}, "Bees", false)
	gives(t, "", err)
	_, err = b.Fill(ctx, Target{Selector: "[name=new]"}, "on", false)
	gives(t, "", err)
	said, err = b.Fill(ctx, Target{Element: 1}, "wax & honey", true)
	gives(t, said, err, "You asked for q=wax+%26+honey&kind=b&new=on")
	said, err = b.Click(ctx, Target{Element: 9})
	fails(t, said, err, "there is no element 9")
	said, err = b.Click(ctx, Target{Selector: "a[["})
	fails(t, said, err, "is no CSS selector")
	said, err = b.Click(ctx, Target{})
	fails(t, said, err, "name an element")
	_, err = b.Open(ctx, site.URL)
	gives(t, "", err)
	said, err = b.Click(ctx, Target{Selector: "a[href='/next']"})
	gives(t, said, err, "Next\n", "tall")
	shot, err := b.Screenshot(ctx, false)
	gives(t, "", err)
	whole, err := b.Screenshot(ctx, true)
	gives(t, "", err)
	small, err1 := png.DecodeConfig(bytes.NewReader(shot))
	tall, err2 := png.DecodeConfig(bytes.NewReader(whole))
	if err1 != nil || err2 != nil || small.Width != 1280 || tall.Height < 3000 || small.Height > 1000 {
		t.Errorf("%v %v, %v %v", small, err1, tall, err2)
	}
	for _, address := range r.to() {
		if !strings.HasPrefix(address, "127.0.0.1:") {
			t.Errorf("the browser asked for %s by itself", address)
		}
	}
}

func TestWhatTheRelayRefusesIsNotReached(t *testing.T) {
	site := shop(t)
	b, _ := chromium(t)
	said, err := b.Open(t.Context(), "http://10.0.0.1/")
	fails(t, said, err, "10.0.0.1:80 is not a public address")
	said, err = b.Open(t.Context(), "https://10.0.0.2/")
	fails(t, said, err, "10.0.0.2:443 is not a public address")
	said, err = b.Open(t.Context(), "http://localhost:8123/")
	fails(t, said, err, "localhost:8123 is not a public address")
	said, err = b.Open(t.Context(), site.URL)
	gives(t, said, err, "Welcome")
}

// If a page crashes or a browser dies, the call ends with a readable error; the next call has a new browser.
func TestACrashEndsInASentence(t *testing.T) {
	site := shop(t)
	b, _ := chromium(t)
	said, err := b.Open(t.Context(), site.URL)
	gives(t, said, err, "Welcome")
	b.mu.Lock()
	_, err = call(t.Context(), b, actTime, chromedp.Navigate("chrome://crash"))
	b.mu.Unlock()
	fails(t, "", err, "the browser has crashed")
	said, err = b.Read(t.Context(), 0)
	fails(t, said, err, "no page is open")
	said, err = b.Open(t.Context(), site.URL)
	gives(t, said, err, "Welcome")
	for _, pid := range children(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	said, err = b.Read(t.Context(), 0)
	fails(t, said, err, "the browser has crashed")
	said, err = b.Open(t.Context(), site.URL)
	gives(t, said, err, "Welcome")
}

// children returns the processes that this one has started.
func children(t *testing.T) (list []int) {
	t.Helper()
	found, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // The thread has ended.
		}
		for _, word := range strings.Fields(string(text)) {
			pid := 0
			for _, digit := range word {
				pid = pid*10 + int(digit-'0')
			}
			list = append(list, pid)
		}
	}
	if len(list) == 0 {
		t.Fatal("there is no browser")
	}
	return list
}
