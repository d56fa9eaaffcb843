package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A run with --open ends its job, and keeps the console, the API and the job behind it until Ctrl-C.
func TestARunWithAConsoleKeepsItUntilASignal(t *testing.T) {
	dir := t.TempDir()
	card := filepath.Join(dir, "quick.md")
	text := "---\nname: Quick\nkind: command\nsandbox: best-effort\npure: true\ncommand: [\"/bin/sh\", \"-c\", \"cat >/dev/null; echo ok\"]\n---\n"
	musttest.Do(t, os.WriteFile(card, []byte(text), 0o600))
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"HOME": dir, "TMPDIR": dir, "PATH": os.Getenv("PATH"), "JOBGRAPH_HTTP_ADDR": "127.0.0.1:0"}[name]
		return value, ok
	}
	p := launch(env, nil, "run", "--open", "--no-folder", "--experts", card, "--expert", "Quick", "--id", "seen", "Say ok")
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	if err := p.stderr.until(ctx, "until Ctrl-C"); err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	at := regexp.MustCompile(`console (http://[^/]+)/\?token=(\S+)#/jobs/seen`).FindStringSubmatch(p.stderr.String())
	if at == nil || !strings.Contains(p.stdout.String(), "ok") {
		t.Fatalf("no address of a console: %s %s", p.stdout.String(), p.stderr.String())
	}
	for path, want := range map[string]string{"/": "<!doctype html>", "/api/v1/jobs/seen": `"status":"FINISHED"`} {
		r := musttest.Get(http.NewRequestWithContext(ctx, http.MethodGet, at[1]+path, http.NoBody))(t)
		r.Header.Set("Authorization", "Bearer "+at[2])
		r.Header.Set("Accept", "text/html, application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // The body has been read.
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %.200s %v", path, answer.StatusCode, body, err)
		}
	}
	p.signals <- os.Interrupt
	if code := <-p.code; code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
