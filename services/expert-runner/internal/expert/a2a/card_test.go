package a2a_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// proves V-T18
func TestTheFlagsOfACardAreKeptAndWhatIsMissingIsLeftOut(t *testing.T) {
	c := musttest.Get(a2a.ReadCard([]byte(`{"name":"News","description":"reads the news","url":"http://127.0.0.1:1/","enabled":false,
		"metadata":{"hidden":true,"planner_passthrough":true,"local_agent_class":"x:Y"},
		"skills":[{"id":"n","name":"Headlines","tags":["b","a","b"],"examples":["what is new"]},{"id":"m"}]}`)))(t)
	got := events.Card{ID: "news", Tags: []string{"own"}}
	c.Describe(&got)
	want := events.Card{
		ID: "news", Description: "reads the news", Skills: []string{"Headlines", "m"}, Tags: []string{"own"}, Examples: []string{"what is new"},
		Disabled: true, Hidden: true, Passthrough: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(c.Digest) != 64 {
		t.Error(diff, c.Digest)
	}
}

func TestACardIsRefusedWithItsReason(t *testing.T) {
	for card, want := range map[string]string{
		`nothing`:                      "cannot be read",
		`[]`:                           "cannot be read",
		`{"name":"x"}`:                 "no address",
		`{"name":"x","url":"ftp://x"}`: "no http:// or https:// URL",
		`{"name":"x","url":"http://me:s3cret@x/"}`:                                                         "no http:// or https:// URL",
		`{"url":"http://x","preferredTransport":"HTTP+JSON"}`:                                              "HTTP+JSON 0.3",
		`{"url":"http://x","preferredTransport":"GRPC"}`:                                                   "GRPC 0.3",
		`{"supportedInterfaces":[{"url":"http://x","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}`: "JSONRPC 2.0",
		strings.Repeat(" ", 2<<20):                                                                         "more than",
	} {
		if _, err := a2a.ReadCard([]byte(card)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.80s: %v", card, err)
		}
	}
}

func TestACardMayBeAFileOrStandInTheConfiguration(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Settings{}, func(s *a2atest.Stage) { s.Answer("hi") })
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "card.json"), agent.Card())
	for _, card := range []any{"card.json", filepath.Join(dir, "card.json"), cardAt(agent.URL)} {
		x, err := a2a.New(a2a.Config{Card: card}, dir)
		if err != nil || x.Given() == nil {
			t.Fatal(err)
		}
	}
	_, err := a2a.New(a2a.Config{Card: "absent.json"}, dir)
	var faults events.Faults
	if !errors.As(err, &faults) || faults[0].Field != "card" {
		t.Error(err)
	}
}

// A card is fetched once for many runs, from the new path or the old, and stays valid while it cannot be fetched.
func TestACardIsFetchedOnceAndByTheFirstRun(t *testing.T) {
	var fetched atomic.Int32
	agent := a2atest.Start(t, a2atest.Settings{Old: true}, func(s *a2atest.Stage) { s.Answer("hi") })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		if strings.HasSuffix(r.URL.Path, "agent-card.json") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(agent.Card())
	}))
	defer front.Close()
	x := expertOf(t, a2a.Config{Agent: front.URL, AllowAddresses: []string{"127.0.0.1"}})
	if fetched.Load() != 0 {
		t.Error("the card was fetched before any run")
	}
	for range 3 {
		succeeded(t, x.Run(t.Context(), taskOf(&hand{}, work())), `"hi"`)
	}
	if n := fetched.Load(); n != 2 {
		t.Errorf("fetched %d times", n)
	}
}

// proves V-T18
func TestManyRunsThatBeginAtOnceFetchTheCardOnce(t *testing.T) {
	var fetched atomic.Int32
	agent := a2atest.Start(t, a2atest.Settings{}, func(s *a2atest.Stage) { s.Answer("hi") })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		_, _ = w.Write(agent.Card())
	}))
	defer front.Close()
	x := expertOf(t, a2a.Config{Agent: front.URL, AllowAddresses: []string{"127.0.0.1"}})
	var runs sync.WaitGroup
	for range 10 {
		runs.Go(func() {
			if e := x.Run(t.Context(), taskOf(&hand{}, work())); e.Report == nil || string(e.Report.Output) != `"hi"` {
				t.Error(shown(e))
			}
		})
	}
	runs.Wait()
	if fetched.Load() != 1 || len(agent.Heard()) != 10 {
		t.Errorf("fetched %d times for %d messages", fetched.Load(), len(agent.Heard()))
	}
}

func TestACardThatCannotBeHadIsTyped(t *testing.T) {
	for status, code := range map[int]events.Code{401: events.CodeNotPermitted, 404: events.CodeUnavailable, 500: events.CodeUnavailable, 200: events.CodeMalformed} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer front.Close()
		failed(t, runWork(t, a2a.Config{Agent: front.URL}, &hand{}, work()), code, "card")
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	failed(t, runWork(t, a2a.Config{Agent: gone.URL}, &hand{}, work()), events.CodeUnavailable, "card")
}

func TestAWrongConfigurationIsRefusedWithEveryFault(t *testing.T) {
	for name, test := range map[string]struct {
		config a2a.Config
		want   []string
	}{
		"nothing":     {a2a.Config{}, []string{"agent"}},
		"two agents":  {a2a.Config{Agent: "http://x", Card: cardAt("http://x")}, []string{"card"}},
		"a user":      {a2a.Config{Agent: "http://me:s3cret@x"}, []string{"agent"}},
		"push":        {a2a.Config{Agent: "http://x", Mode: "push"}, []string{"push_url"}},
		"no push":     {a2a.Config{Agent: "http://x", PushURL: "http://y"}, []string{"push_url"}},
		"a wrong way": {a2a.Config{Agent: "http://x", Mode: "push", PushURL: "y"}, []string{"push_url"}},
		"everything": {
			a2a.Config{Agent: "x", Mode: "fax", Headers: map[string]string{"a b": "c", "X": "a\nb"}, AnswerTimeout: -1, MaxTime: -1, PollInterval: -1, MaxEvents: -1, MaxBytes: -1, AllowAddresses: []string{"here"}},
			[]string{"agent", "allow_addresses", "answer_timeout", "headers.X", "headers.a b", "max_bytes", "max_events", "max_time", "mode", "poll_interval"},
		},
		"a wrong schema": {a2a.Config{Agent: "http://x", Schema: []byte(`{"type":"nothing"}`)}, []string{"output_schema"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a2a.New(test.config, "")
			var faults events.Faults
			if !errors.As(err, &faults) || strings.Contains(err.Error(), "s3cret") {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range faults {
				fields = append(fields, f.Field)
			}
			musttest.Equal(t, test.want, fields)
		})
	}
}

func TestTheOutputIsWhatTheAgentHasMade(t *testing.T) {
	form := []byte(`{"type":"object","required":["n"]}`)
	file := sdk.NewRawPart([]byte{0x89, 'P', 0xff})
	file.MediaType, file.Filename = "image/png", "p.png"
	for name, test := range map[string]struct {
		parts  [][]*sdk.Part
		schema []byte
		want   string
	}{
		"nothing":        {nil, nil, `""`},
		"data":           {[][]*sdk.Part{{sdk.NewDataPart(map[string]any{"n": 1})}}, form, `{"n":1}`},
		"JSON in text":   {[][]*sdk.Part{{sdk.NewTextPart(" {\"n\": 1}\n")}}, form, `{"n": 1}`},
		"two artifacts":  {[][]*sdk.Part{{sdk.NewTextPart("a")}, {sdk.NewTextPart("b")}}, nil, `{"artifacts":[{"id":"0","parts":[{"text":"a"}]},{"id":"1","parts":[{"text":"b"}]}]}`},
		"text and file":  {[][]*sdk.Part{{sdk.NewTextPart("a"), file}}, nil, `{"artifacts":[{"id":"0","parts":[{"text":"a"},{"bytes":"iVD/","name":"p.png","media_type":"image/png"}]}]}`},
		"a file by name": {[][]*sdk.Part{{sdk.NewFileURLPart("http://127.0.0.1:1/x", "text/plain")}}, nil, `{"artifacts":[{"id":"0","parts":[{"url":"http://127.0.0.1:1/x","media_type":"text/plain"}]}]}`},
	} {
		for _, old := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				agent := a2atest.Start(t, a2atest.Settings{Old: old, Streaming: true}, func(s *a2atest.Stage) {
					s.Begin()
					for i, parts := range test.parts {
						s.Make(string(rune('0'+i)), false, parts...)
					}
					s.Say(sdk.TaskStateCompleted, "")
				})
				succeeded(t, runWork(t, a2a.Config{Agent: agent.URL, Schema: test.schema}, &hand{}, work()), test.want)
			})
		}
	}
	agent := a2atest.Start(t, a2atest.Settings{Streaming: true}, func(s *a2atest.Stage) {
		s.Begin()
		s.Make("f", false, file)
		s.Say(sdk.TaskStateCompleted, "")
	})
	e := runWork(t, a2a.Config{Agent: agent.URL}, &hand{}, work())
	if r := e.Report; r.OutputRef == nil || r.OutputRef.MediaType != "image/png" || len(r.Output) != 3 {
		t.Error(shown(e))
	}
	failed(t, runWork(t, a2a.Config{Agent: agent.URL, Schema: form}, &hand{}, work()), events.CodeMalformed, "output_schema")
}
