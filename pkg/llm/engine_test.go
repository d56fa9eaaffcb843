package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// key is the key of every test; no output may hold it.
const key = "sk-test-0123456789abcdef"

// apis are the dialects.
var apis = []string{"chat", "responses", "anthropic", "gemini"}

// meter records what it receives.
type meter struct {
	mu   sync.Mutex
	seen []llm.Observation
}

func (m *meter) Observe(o llm.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, o)
}

func (m *meter) outcomes() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.seen {
		all = append(all, o.Model+" "+o.Outcome)
	}
	return all
}

// engine is an Engine before a doer, without jitter.
func engine(t *testing.T, doer llm.Doer, config llm.Config, m llm.Meter) *llm.Engine {
	t.Helper()
	return musttest.Get(llm.New(config, llm.Settings{Doer: doer, Meter: m, Jitter: func() float64 { return 0 }}))(t)
}

// single is one model of a given kind.
func single(change func(*llm.ModelConfig)) llm.Config {
	m := llm.ModelConfig{Model: "test-model", BaseURL: "http://model.test/v1", Key: key}
	if change != nil {
		change(&m)
	}
	return llm.Config{llm.DefaultModel: m}
}

func ask(text string) llm.Request { return llm.Request{Messages: []llm.Message{llm.User(text)}} }

// raw is a doer that answers every request with the next of some bodies.
func raw(kind string, bodies ...string) llm.Doer {
	answers := &llmtest.Script{}
	for _, body := range bodies {
		answers.Rules = append(answers.Rules, llmtest.Rule{Answer: llmtest.Answer{Body: body, Type: kind}})
	}
	return llmtest.New(answers)
}

// class fails the test unless the error has the class.
func class(t *testing.T, err error, want llm.Class) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of class %s", err, want)
	}
	if e.Class != want {
		t.Fatalf("got class %s (%v), want %s", e.Class, err, want)
	}
	return e
}

func TestAnAnswerIsTheSameInEveryDialectStreamedOrNot(t *testing.T) {
	cost := 0.25
	answer := llmtest.Answer{
		Text: "Hello, 世界", Reasoning: "thinking about it",
		Calls: []llmtest.Call{{ID: "c1", Name: "look", Args: `{"q":"a, b"}`}, {ID: "c2", Name: "look", Args: `{"q":"c"}`}},
		Usage: &llmtest.Usage{Prompt: 100, Cached: 60, Completion: 20, Reasoning: 8, CostUSD: &cost}, Chunk: 3,
	}
	for _, api := range apis {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", api, stream), func(t *testing.T) {
				server := llmtest.New(llmtest.Say(answer))
				m := &meter{}
				e := engine(t, server, single(func(c *llm.ModelConfig) { c.API = api }), m)
				r := ask("hi")
				r.Stream = stream
				r.Tools = []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}
				var text, thought strings.Builder
				var calls []string
				got := musttest.Get(e.Do(t.Context(), r, func(d llm.Delta) {
					text.WriteString(d.Text)
					thought.WriteString(d.Reasoning)
					if d.Call != "" {
						calls = append(calls, d.Call)
					}
				}))(t)
				want := llm.Response{
					Text: "Hello, 世界", Reasoning: "thinking about it",
					Calls:  []llm.Call{{ID: "c1", Name: "look", Args: `{"q":"a, b"}`}, {ID: "c2", Name: "look", Args: `{"q":"c"}`}},
					Finish: llm.FinishCalls, Usage: llm.Usage{Prompt: 100, Cached: 60, Completion: 20, Reasoning: 8},
					Model: "default", Served: "test-model", Attempts: 1, Dialect: llm.Dialect(api),
				}
				want.ID = map[string]string{"chat": "chatcmpl-1", "responses": "resp_1", "anthropic": "msg_1", "gemini": "gen_1"}[api]
				if api == "chat" || api == "anthropic" { // The others state no cost.
					want.CostUSD = &cost
				}
				if api != "chat" {
					want.Carry = got.Carry
					if !strings.Contains(string(got.Carry), "sealed-1") {
						t.Errorf("carry %s: the encrypted thought is lost", got.Carry)
					}
				}
				got.Took = 0
				musttest.Equal(t, want, got)
				if stream && (text.String() != want.Text || thought.String() != want.Reasoning || len(calls) != 2) {
					t.Errorf("pieces %q, %q, %q", text.String(), thought.String(), calls)
				}
				if !stream && text.Len() > 0 {
					t.Error("pieces without a stream")
				}
				musttest.Equal(t, []string{"default ok"}, m.outcomes())
			})
		}
	}
}

// proves O15
func TestRetriesWaitHalfASecondDoubledAndThenGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := llmtest.Answer{Status: 500, Error: "broke"}
		server := llmtest.New(llmtest.Say(broken, broken, broken, broken, broken))
		m := &meter{}
		e := engine(t, server, single(nil), m)
		began := time.Now()
		_, err := e.Do(t.Context(), ask("hi"), nil)
		fail := class(t, err, llm.Unavailable)
		if took := time.Since(began); took != 3500*time.Millisecond {
			t.Errorf("waited %s, want 0.5 + 1 + 2 s", took)
		}
		if fail.Attempts != 4 || len(server.Asked()) != 4 || fail.Status != 500 {
			t.Errorf("%d attempts, %d requests, status %d", fail.Attempts, len(server.Asked()), fail.Status)
		}
		musttest.Equal(t, strings.Fields(strings.Repeat("unavailable ", 4)), strings.Fields(strings.ReplaceAll(strings.Join(m.outcomes(), " "), "default", "")))
	})
}

// proves O-weakness-9
// proves O-weakness-9-run
func TestWhatIsRetriedFollowsStatusAndTheProvidersWord(t *testing.T) {
	for _, c := range []struct {
		name  string
		first llmtest.Answer
		wait  time.Duration
		class llm.Class // "" when the second attempt is to succeed.
	}{
		{"408", llmtest.Answer{Status: 408}, 500 * time.Millisecond, ""},
		{"409", llmtest.Answer{Status: 409}, 500 * time.Millisecond, ""},
		{"429", llmtest.Answer{Status: 429}, 500 * time.Millisecond, ""},
		{"500", llmtest.Answer{Status: 500}, 500 * time.Millisecond, ""},
		{"503", llmtest.Answer{Status: 503}, 500 * time.Millisecond, ""},
		{"529", llmtest.Answer{Status: 529}, 500 * time.Millisecond, ""},
		{"400", llmtest.Answer{Status: 400, Error: "no"}, 0, llm.BadRequest},
		{"400 too long", llmtest.Answer{Status: 400, Code: "context_length_exceeded"}, 0, llm.ContextTooLong},
		{"401", llmtest.Answer{Status: 401}, 0, llm.Auth},
		{"402", llmtest.Answer{Status: 402}, 0, llm.Quota},
		{"403", llmtest.Answer{Status: 403}, 0, llm.Auth},
		{"404", llmtest.Answer{Status: 404}, 0, llm.NotFound},
		{"422", llmtest.Answer{Status: 422}, 0, llm.BadRequest},
		{"429 without credit", llmtest.Answer{Status: 429, Code: "insufficient_quota"}, 0, llm.Quota},
		{"x-should-retry true", llmtest.Answer{Status: 400, Header: map[string]string{"X-Should-Retry": "true"}}, 500 * time.Millisecond, ""},
		{"x-should-retry false", llmtest.Answer{Status: 500, Header: map[string]string{"X-Should-Retry": "false"}}, 0, llm.Unavailable},
		{"Retry-After-Ms", llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After-Ms": "1250", "Retry-After": "9"}}, 1250 * time.Millisecond, ""},
		{"Retry-After seconds", llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"}}, 7 * time.Second, ""},
		{"Retry-After float", llmtest.Answer{Status: 503, Header: map[string]string{"Retry-After": "1.5"}}, 1500 * time.Millisecond, ""},
		{"Retry-After date", llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:11 GMT"}}, 11 * time.Second, ""},
		{"Retry-After nonsense", llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "soon"}}, 500 * time.Millisecond, ""},
		{"Retry-After negative", llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "-3"}}, 500 * time.Millisecond, ""},
	} {
		for n := range 2 * len(apis) { // DEPENDENCIES: the SDK loses Retry-After on streams.
			api, stream := apis[n/2], n%2 > 0
			t.Run(fmt.Sprintf("%s %s stream=%v", c.name, api, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := engine(t, llmtest.New(llmtest.Say(c.first, llmtest.Answer{Text: "ok"})), single(func(m *llm.ModelConfig) { m.API = api }), nil)
					r := ask("hi")
					r.Stream = stream
					began := time.Now()
					got, err := e.Do(t.Context(), r, nil)
					if c.class != "" {
						class(t, err, c.class)
					} else if err != nil || got.Attempts != 2 {
						t.Errorf("attempts %d, error %v", got.Attempts, err)
					}
					if took := time.Since(began); took != c.wait {
						t.Errorf("waited %s, want %s", took, c.wait)
					}
				})
			})
		}
	}
}

func TestAWaitBeyondTheDeadlineFailsAtOnceAndSaysWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline time.Duration
		after    string
		want     time.Duration
	}{
		{"beyond the caller's deadline", 5 * time.Second, "8", 8 * time.Second},
		{"beyond what a goroutine may be held for", 0, "3600", time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busy := llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": c.after}}
				e := engine(t, llmtest.New(llmtest.Say(busy)), single(nil), nil)
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				_, err := e.Do(ctx, ask("hi"), nil)
				fail := class(t, err, llm.RateLimited)
				if fail.RetryAfter != c.want || time.Since(began) != 0 {
					t.Errorf("retry after %s, waited %s", fail.RetryAfter, time.Since(began))
				}
			})
		})
	}
}

func TestABrokenConnectionIsRetriedAndVoidsWhatWasShown(t *testing.T) {
	for api, cut := range map[string]int{"chat": 2, "responses": 2, "anthropic": 4, "gemini": 1} {
		synctest.Test(t, func(t *testing.T) {
			cut := llmtest.Answer{Text: "never mind", Fault: llmtest.CutStream, Cut: cut}
			e := engine(t, llmtest.New(llmtest.Say(cut, llmtest.Answer{Text: "whole"})), single(func(m *llm.ModelConfig) { m.API = api }), nil)
			r := ask("hi")
			r.Stream = true
			var shown []llm.Delta
			got, err := e.Do(t.Context(), r, func(d llm.Delta) { shown = append(shown, d) })
			if err != nil || got.Text != "whole" || got.Attempts != 2 {
				t.Fatalf("%s: %+v, %v", api, got, err)
			}
			if len(shown) != 4 || !strings.HasPrefix(shown[1].Retry, "model default: stream cut") {
				t.Fatalf("%s: the failure is not shown: %+v", api, shown)
			}
			shown[1].Retry = "why"
			if diff := cmp.Diff([]llm.Delta{{Text: "never mi"}, {Retry: "why"}, {Restart: true}, {Text: "whole"}}, shown); diff != "" {
				t.Errorf("%s: %s", api, diff)
			}
		})
	}
}

type refuser struct{ err error }

func (r refuser) Do(*http.Request) (*http.Response, error) { return nil, r.err }

func TestAConnectionThatNeverComesIsUnavailableAndShowsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refuser{fmt.Errorf("dial with Bearer %s: refused", key)}, single(nil), nil)
		_, err := e.Do(t.Context(), ask("hi"), nil)
		if fail := class(t, err, llm.Unavailable); fail.Attempts != 4 {
			t.Errorf("%d attempts, want 4", fail.Attempts)
		}
		if strings.Contains(err.Error(), key) {
			t.Error("the error shows the key:", err)
		}
	})
}

func TestSilenceAndSlownessAreTimeouts(t *testing.T) {
	none := 0
	for _, c := range []struct {
		name   string
		answer llmtest.Answer
		stream bool
		want   time.Duration
	}{
		{"a stream that falls silent", llmtest.Answer{Text: "a few words", Fault: llmtest.Hang, Gap: 5 * time.Second}, true, 25 * time.Second},
		{"a stream that never begins", llmtest.Answer{Text: "x", Delay: time.Hour}, true, 20 * time.Second},
		{"a stream without end", llmtest.Answer{Text: strings.Repeat("x", 1000), Gap: 15 * time.Second}, true, time.Minute},
		{"a whole answer that takes too long", llmtest.Answer{Text: "x", Delay: time.Hour}, false, time.Minute},
	} {
		t.Run(c.name, inEveryDialect(func(t *testing.T, api string) {
			synctest.Test(t, func(t *testing.T) {
				e := engine(t, llmtest.New(llmtest.Say(c.answer)), single(func(m *llm.ModelConfig) {
					m.API, m.Timeout, m.Idle, m.Retries = api, time.Minute, 20*time.Second, &none
				}), nil)
				r := ask("hi")
				r.Stream = c.stream
				began := time.Now()
				_, err := e.Do(t.Context(), r, nil)
				class(t, err, llm.TimedOut)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error("the error is no context.DeadlineExceeded")
				}
				if c.name != "a stream that falls silent" && time.Since(began) != c.want {
					t.Errorf("took %s, want %s", time.Since(began), c.want)
				}
			})
		}))
	}
}

// An attempt that lasts as long as it may costs minutes: it is repeated once, and not at all while the model stays silent.
func TestASilentModelIsAskedOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*llm.ModelConfig)
		idle   time.Duration
	}{
		"by default":           {nil, 2 * time.Minute},
		"thinking long":        {func(m *llm.ModelConfig) { m.Effort = "high" }, 5 * time.Minute},
		"on this machine":      {func(m *llm.ModelConfig) { m.BaseURL = "http://127.0.0.1:8080/v1" }, 5 * time.Minute},
		"in a network of ours": {func(m *llm.ModelConfig) { m.BaseURL = "http://10.0.0.7:8080/v1" }, 5 * time.Minute},
		"in a container":       {func(m *llm.ModelConfig) { m.BaseURL = "http://ollama:11434/v1" }, 5 * time.Minute},
		"as configured":        {func(m *llm.ModelConfig) { m.Effort, m.Idle = "high", time.Minute }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silent := llmtest.Answer{Text: "x", Delay: time.Hour}
				server := llmtest.New(llmtest.Say(silent, silent, silent, llmtest.Answer{Text: "x"}, silent, silent))
				e := engine(t, server, single(c.change), nil)
				r := ask("hi")
				r.Stream = true
				for _, attempts := range []int{2, 1, 0, 2} {
					began := time.Now()
					_, err := e.Do(t.Context(), r, nil)
					if attempts == 0 {
						if err != nil {
							t.Fatal(err)
						}
						continue
					}
					fail, took := class(t, err, llm.TimedOut), time.Since(began)
					if least := time.Duration(attempts) * c.idle; fail.Attempts != attempts || took < least || took > least+time.Second {
						t.Errorf("%d attempts in %s, want %d of %s", fail.Attempts, took, attempts, c.idle)
					}
				}
			})
		})
	}
}

// inEveryDialect runs a test once for each dialect.
func inEveryDialect(test func(t *testing.T, api string)) func(*testing.T) {
	return func(t *testing.T) {
		for _, api := range apis {
			t.Run(api, func(t *testing.T) { test(t, api) })
		}
	}
}

func TestACallerWhoGivesUpIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "x", Delay: time.Hour}))
		e := engine(t, server, single(nil), nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := e.Do(ctx, ask("hi"), nil)
		class(t, err, llm.Cancelled)
		if !errors.Is(err, context.Canceled) || len(server.Asked()) != 1 {
			t.Errorf("error %v after %d requests", err, len(server.Asked()))
		}
	})
}

// proves V31
func TestFailuresOfTheProviderFallThroughTheChain(t *testing.T) {
	none := 0
	for _, c := range []struct {
		name   string
		first  llmtest.Answer
		on     []llm.Class
		answer bool
	}{
		{"no such model", llmtest.Answer{Status: 404}, nil, true},
		{"overloaded", llmtest.Answer{Status: 503}, nil, true},
		{"bad key", llmtest.Answer{Status: 401}, nil, true},
		{"too long for this one", llmtest.Answer{Status: 400, Code: "context_length_exceeded"}, nil, true},
		{"bad request", llmtest.Answer{Status: 400}, nil, false},
		{"refusal", llmtest.Answer{Refusal: "I will not"}, nil, false},
		{"refusal, when configured", llmtest.Answer{Refusal: "I will not"}, []llm.Class{llm.Refused}, true},
		{"overloaded, when not configured", llmtest.Answer{Status: 503}, []llm.Class{llm.Refused}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &llmtest.Script{Rules: []llmtest.Rule{
					{When: llmtest.When{Model: "big"}, Answer: c.first},
					{When: llmtest.When{Model: "small"}, Answer: llmtest.Answer{Text: "from small"}},
				}}
				config := llm.Config{
					"big":   {BaseURL: "http://one.test/v1", Retries: &none, Fallback: []string{"small"}, FallbackOn: c.on},
					"small": {BaseURL: "http://two.test/v1"},
				}
				r := ask("hi")
				r.Model = "big"
				got, err := engine(t, llmtest.New(script), config, nil).Do(t.Context(), r, nil)
				if c.answer && (err != nil || got.Model != "small" || got.Text != "from small" || got.Attempts != 2) {
					t.Errorf("%+v, %v", got, err)
				}
				if !c.answer && err == nil {
					t.Error("it fell through")
				}
			})
		})
	}
}

func TestAFailedChainSaysTheFirstFailureThatMayPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &llmtest.Script{Rules: []llmtest.Rule{
			{When: llmtest.When{Model: "a"}, Answer: llmtest.Answer{Status: 401}},
			{When: llmtest.When{Model: "b"}, Answer: llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "600"}}},
			{When: llmtest.When{Model: "c"}, Answer: llmtest.Answer{Status: 503, Header: map[string]string{"Retry-After": "60"}}},
		}}
		config := llm.Config{"a": {Fallback: []string{"b", "c"}}, "b": {}, "c": {}}
		r := ask("hi")
		r.Model = "a"
		_, err := engine(t, llmtest.New(script), config, nil).Do(t.Context(), r, nil)
		fail := class(t, err, llm.RateLimited)
		if fail.Model != "b" || fail.RetryAfter != time.Minute || fail.Attempts != 3 || !strings.Contains(fail.Message, "a: auth; c: overloaded") {
			t.Errorf("%+v", fail)
		}
	})
}

func TestConfigurationChangesUnderRunningCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			return llmtest.Answer{Text: "I am " + q.Model, Delay: time.Second}, nil
		}))
		e := engine(t, server, single(nil), nil)
		old := make(chan string)
		go func() {
			got, err := e.Do(t.Context(), ask("who?"), nil)
			old <- fmt.Sprint(got.Text, err)
		}()
		synctest.Wait()
		musttest.Do(t, e.Set(single(func(m *llm.ModelConfig) { m.Model = "other" })))
		if err := e.Set(single(func(m *llm.ModelConfig) { m.BaseURL = "ftp://x" })); err == nil {
			t.Error("a faulty configuration was taken")
		}
		got, err := e.Do(t.Context(), ask("who?"), nil)
		if err != nil || got.Text != "I am other" {
			t.Errorf("after the change: %q, %v", got.Text, err)
		}
		if text := <-old; text != "I am test-model<nil>" {
			t.Errorf("under way: %q", text)
		}
	})
}

func TestAnUnknownModelAndAnImpossibleRequestCostNothing(t *testing.T) {
	server := llmtest.New(llmtest.Planner{})
	e := engine(t, server, single(nil), nil)
	r := ask("hi")
	r.Model = "nobody"
	_, err := e.Do(t.Context(), r, nil)
	class(t, err, llm.NotFound)
	bad := llm.Request{
		Messages:   []llm.Message{{Role: "robot"}, {Role: llm.RoleTool}, {Role: llm.RoleUser, Calls: []llm.Call{{}}}},
		Tools:      []llm.Tool{{Name: "a b"}, {Name: "x"}, {Name: "x", Parameters: json.RawMessage(`[]`)}},
		ToolChoice: "y", Schema: &llm.Schema{Name: "x", Schema: json.RawMessage(`{`)},
	}
	_, err = e.Do(t.Context(), bad, nil)
	var faults events.Faults
	if !errors.As(err, &faults) || len(faults) != 9 {
		t.Errorf("%d faults, want all nine: %v", len(faults), err)
	}
	if _, err = e.Do(t.Context(), llm.Request{Messages: []llm.Message{llm.Assistant(" ")}}, nil); err == nil {
		t.Error("a history without a word was sent")
	}
	if n := len(server.Asked()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
