package conversation_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// chance is a model and tools that do anything.
type chance struct{ *rand.Rand }

func (r chance) pick(list ...string) string { return list[r.IntN(len(list))] }

// answer is a fact that fits the command, or now and then one that does not.
func (r chance) answer(c conversation.Command) conversation.Fact {
	switch {
	case r.IntN(12) == 0:
		return conversation.Fact{Kind: conversation.FactKind(r.pick("answered", "observed", "failed", "?")), TooLong: r.IntN(2) == 0, Call: r.IntN(9) - 3}
	case c.Kind == conversation.Use:
		return conversation.Fact{Kind: conversation.Observed, Call: c.Pending[r.IntN(len(c.Pending))], Result: strings.Repeat("ä", r.IntN(1500))}
	}
	f := conversation.Fact{Kind: conversation.Answered, Text: r.pick("", "good", "bad", "other"), Tokens: r.Int64N(60), Elapsed: time.Duration(r.IntN(12)) * time.Minute}
	for i := range r.IntN(4) {
		f.Calls = append(f.Calls, conversation.Call{
			ID: fmt.Sprint("c", i), Name: r.pick("search", "read", "terminate", "nothing"), Args: r.pick("", "{}", `{"status":"success"}`, `{"status":"failure"}`, `{"status":"bad_input"}`, `{"status":"?"}`),
		})
	}
	return f
}

// Whatever model and tools do: a conversation ends within its budget, a replay of its facts gives the same commands, every call in
// a history has one answer, and a summary is marked as such.
// proves O-weakness-2
// proves O-weakness-issue-301
// proves O-weakness-issue-458-run
// proves O-weakness-issue-504
// proves O-weakness-issue-620
func TestAnyConversationEndsWithinItsBudget(t *testing.T) {
	for seed := range uint64(5000) {
		r := chance{rand.New(rand.NewPCG(seed, 1))}
		rules := conversation.Rules{
			Turns: r.IntN(6), Tokens: r.Int64N(200), Time: time.Duration(r.IntN(10)) * time.Minute, Observation: 1 + r.IntN(900), Context: 1 + r.IntN(800),
			Tools: r.IntN(4) > 0, Structured: r.IntN(2) == 0, Summary: r.IntN(2) == 0,
			Read: func(text string) (json.RawMessage, []string) {
				if strings.Contains(text, "bad") {
					return nil, []string{"it is bad"}
				}
				return json.RawMessage(`1`), nil
			},
		}
		if r.IntN(2) == 0 {
			rules.Mode = conversation.Dual()
			rules.Delivered = func(text string) bool { return text != "other" }
		}
		if rules.Tools && r.IntN(3) == 0 {
			rules.Required = []string{"search", "read"}[:1+r.IntN(2)]
		}
		opening := []conversation.Message{{Role: conversation.User, Text: "Do it."}}
		one, two := conversation.New(rules, opening), conversation.New(rules, opening)
		most := rules.Turns
		if most == 0 {
			most = conversation.DefaultTurns * max(1, len(rules.Mode))
		}
		asked := map[int]bool{}
		for step := 0; ; step++ {
			c := one.Next()
			if diff := cmp.Diff(c, two.Next(), cmpopts.IgnoreUnexported(conversation.Message{})); diff != "" {
				t.Fatalf("seed %d: a replay differs: %s", seed, diff)
			}
			if c.Kind == conversation.End {
				break
			}
			if c.Kind == conversation.Ask {
				asked[c.Number] = true
				if c.Advises && c.Choice != conversation.ChoiceNone {
					t.Fatalf("seed %d: who advises may call %q", seed, c.Choice)
				}
				open := 0
				for _, m := range c.Messages {
					switch {
					case m.Role == conversation.Tool && open > 0:
						open--
					case m.Role == conversation.Tool || open > 0:
						t.Fatalf("seed %d: calls and answers do not match: %+v", seed, c.Messages)
					case m.Role == conversation.Assistant:
						open = len(m.Calls)
					}
				}
				if open > 0 {
					t.Fatalf("seed %d: %d calls have no answer", seed, open)
				}
			}
			if len(asked) > most+2 || step > 2000 {
				t.Fatalf("seed %d: %d questions, %d turns allowed", seed, len(asked), most)
			}
			f := r.answer(c)
			one.Take(f)
			two.Take(f)
		}
		e := one.Next().Ending
		if !e.Outcome.Valid() || (e.Fault == nil) != (e.Outcome == "SUCCESS") {
			t.Fatalf("seed %d: %+v", seed, e)
		}
		if one.Turns() > most && e.Fault == nil && !strings.Contains(string(e.Output), `"incomplete":true`) {
			t.Fatalf("seed %d: a silent success after %d of %d turns", seed, one.Turns(), most)
		}
	}
}
