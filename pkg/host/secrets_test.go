package host_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAFileSaysWhatIsSecretInIt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		musttest.Write(t, path, text)
		return path
	}
	write("token.txt", "from-a-token-file\n")
	write("notes.txt", "from-notes\n")
	path := write("jobgraph.yaml", `version: 1
title: ${TITLE}
at: https://${PASSWORD}@host.test/?api_key=in-the-query&page=2
list: ["--token", "${A_TOKEN}", "${file:notes.txt}"]
servers:
  one:
    env: {HOME: "${HOME}", ANYTHING: "${THING}", API_KEY: written-there, MODE: "${MODE:-fallback}"}
    headers: {Authorization: Basic dXNlcjpvcGVuLXNlc2FtZQ==, X-Other: plain, Accept: "${ACCEPTED}"}
    file: ${file:token.txt}
    headers_of: {Authorization: not-in-a-section}
`)
	env := host.Env(func(name string) (string, bool) {
		value, ok := map[string]string{
			"TITLE": "a title", "PASSWORD": "of-the-user", "A_TOKEN": "an-argument", "HOME": "/home/me", "THING": "in-the-environment", "ACCEPTED": "in-a-header",
		}[name]
		return value, ok
	})
	var out struct {
		Title, At string
		List      []string
		Servers   map[string]struct {
			Env, Headers map[string]string
			HeadersOf    map[string]string `yaml:"headers_of"`
			File         string
		}
	}
	file := musttest.Get(host.OpenYAML(path, env, &out))(t)
	got := slices.Sorted(slices.Values(file.Secrets()))
	want := []string{
		"Basic dXNlcjpvcGVuLXNlc2FtZQ==", "an-argument", "dXNlcjpvcGVuLXNlc2FtZQ==", "from-a-token-file", "in-a-header", "in-the-environment", "in-the-query",
		"of-the-user", "of-the-user", "open-sesame", "written-there",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var none *host.File
	if len(none.Secrets()) != 0 {
		t.Error("no file has secrets")
	}
}

func TestAProcessTellsNoSecret(t *testing.T) {
	var log strings.Builder
	settings := host.Settings{NATS: host.NATS{URL: "nats://user:of-the-url-1@host.test", Password: "of-the-bus-1"}}
	p := host.NewProcess(t.Context(), t.Context(), "planner", settings, slog.New(slog.NewTextHandler(&log, nil)))
	child := p.Child("runner")
	child.Secrets.Add("of-an-expert-1")
	said := "of-the-url-1 of-the-bus-1 of-an-expert-1"
	p.Log.Info("said", "text", said)
	child.Log.With("text", said).Warn(said, "error", errors.New(said))
	p.Health.Block("block", said)
	p.Health.Note("note", said)
	p.Health.Add("check", func(context.Context) error { return errors.New(said) })
	all := log.String()
	for _, r := range append(p.Health.Reasons(t.Context()), p.Health.Notes()...) {
		all += r.Reason
	}
	if strings.Contains(all, "of-") || strings.Count(all, "******** ******** ********") != 7 {
		t.Error(all)
	}
}
