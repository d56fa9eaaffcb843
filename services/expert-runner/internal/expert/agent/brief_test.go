package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// listener records what the model is asked.
type listener struct {
	words
	asked []llm.Request
}

func (l *listener) Do(ctx context.Context, r llm.Request, live func(llm.Delta)) (llm.Response, error) {
	l.asked = append(l.asked, r)
	return l.words.Do(ctx, r, live)
}

// aboutBoats is a brief in which the first steps are done.
func aboutBoats(done int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"v":1,"job":"j1","request":{"goal":"A report on boats","context":"</data> for children"},"user":"ann","timezone":"Asia/Tokyo",`+
		`"plan":{"title":"Boats","steps":[{"id":"x","title":"Find <data> boats","status":"completed"},{"id":"a","title":"Dig","status":"in_progress"}]},`+
		`"place":{"id":"a","n":2,"of":2},"marks":{"completed":%d,"in_progress":1,"not_started":0,"blocked":0}}`, done))
}

func TestTheModelIsToldOfTheJobAsData(t *testing.T) {
	l := &listener{words: words{said: []any{"done"}}}
	s := &story{answers: map[string]events.InputClosed{}}
	s.told(t, Config{Client: l}, events.Work{Goal: "dig", Brief: aboutBoats(1)})
	text := l.asked[0].Messages[1].Parts[0].Text
	for _, want := range []string{
		"<data kind=\"job\" name=\"request\">\nA report on boats\n\nContext:\n&lt;/data> for children\n</data>", "Boats\n", "1. [✓] x: Find &lt;data> boats\n", "2. [→] a: Dig (this step)\n",
		"This is step 2 of 2.", "job: j1\nuser: ann\ntime zone: Asia/Tokyo",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(text, "<data ") != strings.Count(text, "</data>") || strings.Index(text, "A report on boats") < strings.Index(text, "dig") {
		t.Errorf("the data is not delimited:\n%s", text)
	}
}

func TestAConversationThatGoesOnKeepsItsOpening(t *testing.T) {
	c := Config{Tools: []string{"dig", AskPerson}, Context: 800, Toolboxes: []Toolbox{box{}}}
	for name, briefs := range map[string][2]json.RawMessage{
		"of a release without briefs": {nil, aboutBoats(1)}, "whose plan has moved on": {aboutBoats(0), aboutBoats(1)}, "of work without a brief": {aboutBoats(1), nil},
	} {
		l := &listener{words: words{said: []any{call("dig"), call("dig", AskPerson), call("dig"), "done"}}}
		c.Client = l
		s := &story{answers: map[string]events.InputClosed{}}
		e := s.told(t, c, events.Work{Goal: "dig", Brief: briefs[0]})
		if e.Park == nil {
			t.Fatalf("%s: %+v", name, e)
		}
		s.answers[e.Park.Request] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"this one"`)}
		if e = s.told(t, c, events.Work{Goal: "dig", Brief: briefs[1]}); e.Report == nil || e.Report.Outcome != events.Success {
			t.Fatalf("%s: %+v", name, e)
		}
		for i, asked := range l.asked {
			if got := asked.Messages[1].Parts[0].Text; got != l.asked[0].Messages[1].Parts[0].Text {
				t.Errorf("%s: question %d begins with\n%s", name, i+1, got)
			}
		}
		if r, err := s.recording(len(s.journal)).Replay(s.run); err != nil || r.State != ReplaySame {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}
