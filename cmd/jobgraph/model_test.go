package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// model serves the scripted model on a free port, which OPENAI_BASE_URL names, until the script ends.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("model cannot be negated")
	}
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			args[i] = ts.MkAbs(arg)
		}
	}
	signals := make(chan os.Signal, 2)
	out, in := io.Pipe()
	code := make(chan int, 1)
	sys := cli.System{
		System: host.System{
			Args: append([]string{"model", "serve"}, args...), Env: func(string) (string, bool) { return "", false },
			Stdout: in, Stderr: os.Stderr, Signals: signals,
		},
		Stdin: strings.NewReader(""), Now: time.Now,
	}
	go func() { // Ends with the signal below.
		code <- cli.Main(sys)
		_ = in.Close()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	r := &recorder{}
	served := r.before(ts, strings.TrimSpace(address))
	questions.Store(served.URL, r)
	ts.Setenv("OPENAI_BASE_URL", served.URL+"/v1")
	ts.Defer(func() {
		questions.Delete(served.URL)
		served.Close()
		signals <- syscall.SIGTERM
		if got := <-code; got != 0 {
			ts.Fatalf("the model ended with %d", got)
		}
	})
}

// questions are the recorders of the running models, by address.
var questions sync.Map

// recorder records the questions to a model, over any of its APIs.
type recorder struct {
	mu    sync.Mutex // Guards asked.
	asked []string
}

// before serves a model under another address, and records what goes there.
func (r *recorder) before(ts *testscript.TestScript, address string) *httptest.Server {
	target, err := url.Parse(strings.TrimSuffix(address, "/v1"))
	ts.Check(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1                                                                             // Pieces of a stream are passed on at once.
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // Like a model that breaks off.
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var parsed any
		if json.Unmarshal(body, &parsed) == nil {
			var all strings.Builder
			texts(&all, parsed)
			r.mu.Lock()
			r.asked = append(r.asked, strings.Join(strings.Fields(all.String()), " "))
			r.mu.Unlock()
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q)
	}))
}

// texts writes the names and texts of a JSON value, in the order of the names.
func texts(w *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		fmt.Fprintln(w, v)
	case []any:
		for _, one := range v {
			texts(w, one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintln(w, name)
			texts(w, v[name])
		}
	}
}

// asked checks how many questions to the model contain all of some texts, regardless of line breaks: at least one, none if negated,
// or as many as -N says.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	want := -1
	if len(args) > 1 && strings.HasPrefix(args[0], "-") {
		n, err := strconv.Atoi(args[0][1:])
		ts.Check(err)
		want, args = n, args[1:]
	}
	if len(args) == 0 {
		ts.Fatalf("usage: [!] asked [-N] TEXT…")
	}
	found, known := questions.Load(strings.TrimSuffix(ts.Getenv("OPENAI_BASE_URL"), "/v1"))
	if !known {
		ts.Fatalf("no model runs here")
	}
	r, _ := found.(*recorder)
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, question := range r.asked {
		if !slices.ContainsFunc(args, func(text string) bool { return !strings.Contains(question, text) }) {
			n++
		}
	}
	if neg && n > 0 || !neg && n == 0 || want >= 0 && n != want {
		ts.Fatalf("%d of %d questions contain %q:\n%s", n, len(r.asked), args, strings.Join(r.asked, "\n\n"))
	}
}
