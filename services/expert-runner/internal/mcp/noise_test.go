package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// noises are messages that a server can send during a call without ever answering it. They may contain a number.
func noises() map[string]string {
	return map[string]string{
		"progress":     `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`,
		"logging":      `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"step %d"}}`,
		"list_changed": `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"n":%d}}}`,
		"ping":         `{"jsonrpc":"2.0","id":"n%d","method":"ping"}`,
		"answers":      `{"jsonrpc":"2.0","id":%d000000,"result":{}}`,
	}
}

// streams are additional messages on an event stream.
func streams() map[string]string {
	return map[string]string{"comments": ": still there %d\n\n", "ids": "id: %d\n\n", "foreign": "event: tick\ndata: %d\n\n"}
}

// reply is a noisy server's answer; "" if none is expected, and ok is false for the call that starts the noise.
func reply(line []byte) (text string, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
		return "", true
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"noisy","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"noise","inputSchema":{"type":"object"}},{"name":"pid","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if m.Params.Name == "noise" {
			return "", false
		}
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, os.Getpid())
	case "ping":
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID), true
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), true
}

// noise repeats a message, in bursts of a hundred long ones or a short one each millisecond, until the reader stops or done
// is closed.
func noise(w io.Writer, text string, flood bool, done <-chan struct{}) {
	many, pace := 1, time.NewTicker(time.Millisecond)
	defer pace.Stop()
	if flood {
		many, text = 100, strings.Replace(text, "%d", "%2048d", 1)
	}
	for n := 0; ; {
		var b strings.Builder
		for range many {
			n++
			fmt.Fprintf(&b, text, n)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		if flood {
			continue
		}
		select {
		case <-pace.C:
		case <-done:
			return
		}
	}
}

// noisy is a noisy server on standard input and output. A deaf one reads nothing once it is noisy.
func noisy(role string) {
	kind, how, _ := strings.Cut(role, "/")
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		text, ok := reply(line)
		switch {
		case ok && text != "":
			fmt.Fprintln(os.Stdout, text)
		case !ok && how == "deaf":
			noise(os.Stdout, noises()[kind]+"\n", false, nil)
		case !ok:
			go noise(os.Stdout, noises()[kind]+"\n", how == "flood", nil) // Ends with the program.
		}
	}
}

// noisyWeb is a noisy server over streamable HTTP. A mute one answers only calls, for longer than a test waits.
func noisyWeb(t *testing.T, role string) Server {
	t.Helper()
	relents, stop := context.WithTimeout(t.Context(), 2*musttest.Patience)
	t.Cleanup(stop)
	kind, how, _ := strings.Cut(role, "/")
	text := streams()[kind]
	if text == "" {
		text = "data: " + noises()[kind] + "\n\n"
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		said, ok := reply(body)
		switch {
		case !ok:
			w.Header().Set("Content-Type", "text/event-stream")
			noise(w, text, how == "flood", r.Context().Done())
		case said == "":
			if how == "mute" && !bytes.Contains(body, []byte("notifications/initialized")) {
				select {
				case <-relents.Done():
				case <-r.Context().Done():
				}
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, said)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return Server{URL: web.URL}
}

// everyNoise tests every kind of noise on every transport that supports it.
func everyNoise(t *testing.T, how string, try func(t *testing.T, config Server)) {
	for kind := range noises() {
		t.Run("stdio/"+kind, func(t *testing.T) { try(t, program("noisy "+kind+"/"+how)) })
		t.Run("http/"+kind, func(t *testing.T) { try(t, noisyWeb(t, kind+"/"+how)) })
	}
	for kind := range streams() {
		t.Run("http/"+kind, func(t *testing.T) { try(t, noisyWeb(t, kind+"/"+how)) })
	}
}

// A server that sends much during a call, within its limits, only has the time of the call.
func TestNoNoiseKeepsACallFromEnding(t *testing.T) {
	everyNoise(t, "drip", func(t *testing.T, config Server) {
		config.Timeout = 300 * time.Millisecond
		p := pool(t, config)
		loud, pid := opened(t, p, "noise"), opened(t, p, "pid")
		ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
		defer stop()
		if _, err := loud.Call(ctx, tool.Call{}); !errors.Is(err, expert.ErrUnknown) || !strings.Contains(err.Error(), "within 300ms") {
			t.Error(err)
		}
		id, err := pid.Call(ctx, tool.Call{})
		for err != nil && ctx.Err() == nil { // On a busy machine that time is short.
			id, err = pid.Call(ctx, tool.Call{})
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if config.Command != "" {
			gone(t, id)
		}
	})
}

// A server that exceeds its limits is ended long before the timeout of the call, and the next call gets a new one.
func TestAFloodInTheMiddleOfACallEndsTheServer(t *testing.T) {
	everyNoise(t, "flood", func(t *testing.T, config Server) {
		config.Timeout, config.ReplyLimit = time.Minute, 64<<10
		p := pool(t, config)
		loud, pid := opened(t, p, "noise"), opened(t, p, "pid")
		id := musttest.Get(pid.Call(t.Context(), tool.Call{}))(t)
		if _, err := loud.Call(t.Context(), tool.Call{}); !errors.Is(err, expert.ErrUnknown) || !errors.Is(err, errFlood) {
			t.Error(err)
		}
		if config.Command != "" {
			gone(t, id)
		}
		if next, err := pid.Call(t.Context(), tool.Call{}); err != nil || config.Command != "" && next == id {
			t.Errorf("%s, then %s: %v", id, next, err)
		}
	})
}

// talks waits until a server has sent something since a time.
func talks(t *testing.T, p *Pool, since time.Time) *session {
	t.Helper()
	for {
		s := p.servers["x"]
		s.mu.Lock()
		x := s.session
		s.mu.Unlock()
		if x != nil {
			x.flow.mu.Lock()
			at := x.flow.at
			x.flow.mu.Unlock()
			if at.After(since) {
				return x
			}
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("it says nothing")
		}
	}
}

// Cancelling a call waits neither for the server nor for the call's time.
func TestACallIsCancelledInTheMiddleOfNoise(t *testing.T) {
	everyNoise(t, "drip", func(t *testing.T, config Server) {
		config.Timeout = time.Minute
		p := pool(t, config)
		loud := opened(t, p, "noise")
		ctx, cancel := context.WithCancel(t.Context())
		began, returned := time.Now(), make(chan error, 1)
		go func() { // Ends with the call.
			_, err := loud.Call(ctx, tool.Call{})
			returned <- err
		}()
		x := talks(t, p, began)
		cancel()
		if err := <-returned; !errors.Is(err, context.Canceled) || !errors.Is(err, expert.ErrUnknown) || x.ctx.Err() != nil {
			t.Errorf("%v; the session: %v", err, x.ctx.Err())
		}
	})
}

// A server that pings and reads nothing accepts no message: its caller is cancelled at once, and it is ended.
func TestAServerThatTakesNothingHoldsNobodyAndIsEnded(t *testing.T) {
	config := program("noisy ping/deaf")
	config.Timeout = time.Minute
	p := pool(t, config)
	loud, pid := opened(t, p, "noise"), opened(t, p, "pid")
	id := musttest.Get(pid.Call(t.Context(), tool.Call{}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	began, returned := time.Now(), make(chan error, 2)
	go func() { // Ends with the call.
		_, err := loud.Call(t.Context(), tool.Call{})
		returned <- err
	}()
	x := talks(t, p, began)
	go func() { // Ends with the call, which is too large for a pipe without a reader.
		_, err := pid.Call(ctx, tool.Call{Args: `{"x":"` + strings.Repeat("x", 1<<20) + `"}`})
		returned <- err
	}()
	cancel()
	if err := <-returned; !errors.Is(err, context.Canceled) || x.ctx.Err() != nil {
		t.Errorf("%v; the session: %v", err, x.ctx.Err())
	}
	if err := <-returned; !errors.Is(err, errStuck) || !errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
	gone(t, id)
}

// A web server that never accepts the answers to its pings is ended as well, and blocks no caller.
func TestAServerThatTakesNoAnswersHoldsNobodyAndIsEnded(t *testing.T) {
	config := noisyWeb(t, "ping/mute")
	config.Timeout = time.Minute
	if _, err := opened(t, pool(t, config), "noise").Call(t.Context(), tool.Call{}); !errors.Is(err, errStuck) || !errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
	config = noisyWeb(t, "ping/mute")
	config.Timeout = 300 * time.Millisecond
	p := pool(t, config)
	if _, err := opened(t, p, "noise").Call(t.Context(), tool.Call{}); !errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience) // Before the server relents.
	defer stop()
	p.Close()
	if ctx.Err() != nil {
		t.Error("the end of the runner has waited for the server")
	}
}

// Many small messages weigh as much as a few large ones, however they are split.
func TestEveryMessageHasItsWeight(t *testing.T) {
	said := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 100)
	for _, piece := range []int{1, 4, 8, 9, 10, 61, 62, 1000, len(said)} {
		c, n := counted{}, 0
		for left := []byte(said); len(left) > 0; left = left[min(piece, len(left)):] {
			n += c.messages(left[:min(piece, len(left))])
		}
		if n != 100 {
			t.Errorf("%d messages in pieces of %d bytes", n, piece)
		}
	}
	f := newFlow(24<<10, time.Now(), func() {})
	r := &counted{ReadCloser: io.NopCloser(strings.NewReader(said)), flow: f}
	if _, err := io.ReadAll(r); !errors.Is(err, errFlood) {
		t.Error(err)
	}
}
