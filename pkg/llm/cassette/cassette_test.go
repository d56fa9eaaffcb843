package cassette_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/cassette"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

const key = "sk-test-0123456789abcdef"

func engine(t *testing.T, doer llm.Doer, base string, secret llm.Secret) *llm.Engine {
	t.Helper()
	return speaking(t, "", doer, base, secret)
}

// speaking is an engine whose model speaks a dialect.
func speaking(t *testing.T, api string, doer llm.Doer, base string, secret llm.Secret) *llm.Engine {
	t.Helper()
	none := 0
	return musttest.Get(llm.New(llm.Config{llm.DefaultModel: {API: api, BaseURL: base, Key: secret, Model: "m", Retries: &none}}, llm.Settings{Doer: doer}))(t)
}

// told returns everything that a call returns, as text.
func told(e *llm.Engine, t *testing.T, question string, stream bool) string {
	t.Helper()
	var pieces strings.Builder
	got, err := e.Do(t.Context(), llm.Request{Messages: []llm.Message{llm.User(question)}, Stream: stream}, func(d llm.Delta) {
		fmt.Fprintf(&pieces, "%s|", d.Text)
	})
	got.Took, got.Carry = 0, nil // Carried items contain the host name.
	return fmt.Sprintf("%+v %v %s", got, err, pieces.String())
}

func TestAPlayedCassetteAnswersAsTheModelDid(t *testing.T) {
	for api, version := range map[string]string{"chat": "/v1", "responses": "/v1", "anthropic": "", "gemini": ""} { // The last two add their own.
		t.Run(api, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &llmtest.Script{Rules: []llmtest.Rule{
					{Answer: llmtest.Answer{Text: "first 一", Reasoning: "hm"}},
					{Answer: llmtest.Answer{Text: "streamed", Chunk: 3}},
					{Answer: llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "600"}}},
					{Answer: llmtest.Answer{Text: "cut off", Fault: llmtest.CutStream}},
					{Answer: llmtest.Answer{Body: "\xff\xfe{", Type: "application/json"}},
					{Answer: llmtest.Answer{Text: "first, asked again"}},
				}}
				var tape bytes.Buffer
				recorder := cassette.Record(&tape, llmtest.New(script), key)
				live := speaking(t, api, recorder, "http://live.test"+version, key)
				questions := []struct {
					text   string
					stream bool
				}{{"a", false}, {"b", true}, {"c", false}, {"d", true}, {"e", false}, {"a", false}}
				var want []string
				for _, q := range questions {
					want = append(want, told(live, t, q.text, q.stream))
				}
				musttest.Do(t, recorder.Err())
				if n := strings.Count(tape.String(), "\n"); n != len(questions) {
					t.Fatalf("%d lines:\n%s", n, tape.String())
				}
				path := musttest.Temp(t, "tape.jsonl", tape.Bytes())
				player, err := cassette.Load(path)
				if err != nil {
					t.Fatal(err)
				}
				// Another key and another address: neither affects what is played.
				offline := speaking(t, api, player, "http://elsewhere.test/proxy"+version, "another")
				var got []string
				for _, q := range questions {
					got = append(got, told(offline, t, q.text, q.stream))
				}
				musttest.Equal(t, want, got)
				if again := told(offline, t, "a", false); again != want[5] {
					t.Errorf("after the last answer: %s", again)
				}
				_, err = offline.Do(t.Context(), llm.Request{Messages: []llm.Message{llm.User("never asked")}}, nil)
				if llm.ClassOf(err) != llm.NotFound || !strings.Contains(err.Error(), "the cassette holds no answer") {
					t.Errorf("a request that was not recorded: %v", err)
				}
			})
		})
	}
}

func TestACassetteHoldsNoKey(t *testing.T) {
	const own = "a-key-of-no-known-form"
	for _, secret := range []llm.Secret{key, own} {
		var tape bytes.Buffer
		echo := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			return llmtest.Answer{Status: 401, Error: "bad key " + q.Header.Get("Authorization"), Header: map[string]string{"Set-Cookie": string(secret), "Retry-After": string(secret)}}, nil
		}))
		e := engine(t, cassette.Record(&tape, echo, secret), "http://live.test/v1", secret)
		told(e, t, "my key is "+string(secret), false)
		if tape.Len() == 0 || strings.Contains(tape.String(), string(secret)) {
			t.Errorf("the tape: %s", tape.String())
		}
	}
}

func TestTheOrderOfKeysDoesNotDecideWhatIsPlayed(t *testing.T) {
	var tape bytes.Buffer
	told(engine(t, cassette.Record(&tape, llmtest.New(llmtest.Planner{})), "http://live.test/v1", ""), t, "a", false)
	var e cassette.Entry
	if err := json.Unmarshal(tape.Bytes(), &e); err != nil || e.Path != "/v1/chat/completions" || len(e.Digest) != 64 {
		t.Fatalf("%+v, %v", e, err)
	}
	var body map[string]any
	if err := json.Unmarshal(e.Request, &body); err != nil || body["model"] != "m" {
		t.Errorf("%v, %v", body, err)
	}
}

func TestAFaultyCassetteIsNamedByItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n{\"digest\":\"x\",\"status\":200}\n{":        "line 3",
		"{\"digest\":\"\",\"status\":200}":              "line 1: no digest",
		"{\"digest\":\"x\"}":                            "no status",
		"{\"digest\":\"x\",\"status\":200}\n[]\n\n[]\n": "line 2",
	} {
		if _, err := cassette.Play(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := cassette.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestARecordingThatCannotBeWrittenFailsNoCall(t *testing.T) {
	recorder := cassette.Record(full{}, llmtest.New(llmtest.Planner{}))
	if got := told(engine(t, recorder, "http://live.test/v1", ""), t, "a", false); !strings.Contains(got, "Scripted answer to: a") {
		t.Error(got)
	}
	if err := recorder.Err(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}
