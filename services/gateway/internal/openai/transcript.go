package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Delta is the next piece of an answer: text of the answer itself, or what planner and experts say on the way to it.
type Delta struct{ Content, Reasoning string }

// Transcript turns what a job says to a person, from some event on, into the text of one answer. The answer consists of the texts
// of the SubJob whose result is the job's result, while they are written; everything else is reasoning. It ends with the job's
// result or with a question to the person. It belongs to one goroutine.
type Transcript struct {
	// User is the person; a question for someone else does not end the answer. Answered is the question that the person has just
	// answered: what precedes it belongs to an earlier answer.
	User     string
	Answered string

	job    *graph.Job
	asked  map[string]*events.InputRequested
	ended  *events.JobEnded
	before events.Spent // What was spent up to the answer of the person.
	early  []item.Item  // Items of SubJobs that the log does not know yet.

	voices  map[string]*voice // By SubJob, run and item.
	content paragraphs
	thought paragraphs
}

// voice is an item that is being written.
type voice struct {
	have  int // How many of its bytes were taken.
	round int // How often it has started again.
	plain item.Plain
}

// mostEarly limits the items that are kept until the log says to which SubJob they belong.
const mostEarly = 1000

// Event takes the next event of the log. Errors: those of joblog.Step.
func (t *Transcript) Event(e *events.Event) (err error) {
	if t.job, _, err = joblog.Step(t.job, e); err != nil {
		return err
	}
	switch d := e.Data.(type) {
	case *events.InputRequested:
		if t.asked == nil {
			t.asked = map[string]*events.InputRequested{}
		}
		t.asked[d.Request] = d
	case *events.JobEnded:
		t.ended = d
	}
	if e.Kind == events.KindJobRecovered {
		t.ended = nil
	}
	if e.Kind == events.KindInputClosed && e.Key == t.Answered {
		t.before = t.job.View().Cost
	}
	return nil
}

// Ended returns the end of the job, nil before it.
func (t *Transcript) Ended() *events.JobEnded { return t.ended }

// Spent returns what the answer has cost.
func (t *Transcript) Spent() events.Spent {
	if t.job == nil {
		return events.Spent{}
	}
	all := t.job.View().Cost
	return events.Spent{Tokens: max(all.Tokens-t.before.Tokens, 0), CostUSD: max(all.CostUSD-t.before.CostUSD, 0)}
}

// Item takes a live item and returns what it adds to the answer.
func (t *Transcript) Item(i *item.Item) []Delta {
	if t.job == nil || !slices.ContainsFunc(t.job.View().SubJobs, func(n *graph.SubJobState) bool { return n.ID == i.SubJob }) {
		if len(t.early) < mostEarly {
			t.early = append(t.early, *i)
		}
		return nil
	}
	if d := t.say(i); d != (Delta{}) {
		return []Delta{d}
	}
	return nil
}

// Early returns what the kept items add to the answer, as far as the log now knows their SubJobs.
func (t *Transcript) Early() (list []Delta) {
	early := t.early
	t.early = nil
	for n := range early {
		list = append(list, t.Item(&early[n])...)
	}
	return list
}

func (t *Transcript) say(i *item.Item) Delta {
	key := fmt.Sprintf("%s/%d/%s", i.SubJob, i.Run, i.ID)
	switch i.Type {
	case item.Text, item.Thinking, item.Plan, item.Guidance, item.Warning:
		text, round := t.next(key, i)
		key = fmt.Sprintf("%s#%d", key, round)
		if i.Type == item.Text && t.answers(i) {
			return Delta{Content: t.content.add(key, "", text)}
		}
		return Delta{Reasoning: t.thought.add(key, t.speaker(i.SubJob), text)}
	case item.Tool:
		if _, told := t.voices[key]; told || i.Done {
			return Delta{}
		}
		t.voice(key).have++
		return Delta{Reasoning: t.thought.add(key, t.speaker(i.SubJob), "→ "+strings.TrimSpace(i.Tool+" "+clip.Text(i.Args, mostArgs)))}
	}
	return Delta{}
}

// mostArgs is how much of a call's arguments is shown, in bytes.
const mostArgs = 200

func (t *Transcript) voice(key string) *voice {
	if t.voices == nil {
		t.voices = map[string]*voice{}
	}
	v := t.voices[key]
	if v == nil {
		v = &voice{}
		t.voices[key] = v
	}
	return v
}

// next returns what an item adds to its text, and how often the text has started again.
func (t *Transcript) next(key string, i *item.Item) (text string, round int) {
	v := t.voice(key)
	text = i.Text
	switch {
	case text == "":
	case i.Offset == 0 && v.have > 0:
		*v = voice{round: v.round + 1}
	case i.Offset < v.have:
		text = text[min(v.have-i.Offset, len(text)):]
	}
	v.have = max(v.have, i.Offset+len(i.Text))
	return v.plain.Add(text, i.Done), v.round
}

// answers reports whether a text belongs to the answer: it is the planner's own answer, the written-up result, or the text of the
// only SubJob on which no other depends.
func (t *Transcript) answers(i *item.Item) bool {
	s := t.job.View()
	switch i.SubJob {
	case events.PlanID:
		return strings.HasSuffix(i.ID, "/answer")
	case events.FinalID:
		return true
	}
	how := s.Finalize
	if how == "" {
		how = s.Rules.Finalize
	}
	if how != "" && how != "tails" {
		return false
	}
	used, ends, mine := map[int32]bool{}, 0, false
	for _, n := range s.SubJobs {
		if joblog.InGraph(n) {
			for _, at := range n.Deps {
				used[at] = true
			}
		}
	}
	for at, n := range s.SubJobs {
		if joblog.InGraph(n) && !used[int32(at)] {
			ends++
			mine = mine || n.ID == i.SubJob
		}
	}
	return mine && ends == 1
}

// speaker names a SubJob whose text is reasoning; the planner has no name.
func (t *Transcript) speaker(subjob string) string {
	if subjob == events.PlanID || subjob == events.FinalID {
		return ""
	}
	for _, n := range t.job.View().SubJobs {
		if n.ID == subjob && n.Title != "" {
			return n.Title
		}
	}
	return subjob
}

// Question is the newest open question to the person, which the next message to the session answers.
type Question struct {
	Job, Request string
	Kind         events.InputKind
	Text         string
}

// Question returns the open question to the person, nil if there is none.
func (t *Transcript) Question() *Question {
	if t.job == nil {
		return nil
	}
	s, newest := t.job.View(), -1
	for at, in := range s.Inputs {
		if in.Kind != events.InputTimer && in.Closing == "" && (in.User == "" || in.User == t.User) && (newest < 0 || in.Seq > s.Inputs[newest].Seq) {
			newest = at
		}
	}
	if newest < 0 {
		return nil
	}
	in := s.Inputs[newest]
	return &Question{Job: s.ID, Request: in.Request, Kind: in.Kind, Text: questionText(in.Kind, t.asked[in.Request])}
}

// questionText returns a question with its possible answers.
func questionText(kind events.InputKind, asked *events.InputRequested) string {
	if asked == nil {
		return ""
	}
	text, _, _ := strings.Cut(asked.Prompt, "\n"+item.Before+"\n")
	text = strings.TrimSpace(text)
	switch {
	case kind == events.InputForm:
		return text + "\n\nAnswer with JSON that fits this schema:\n" + string(asked.Schema)
	case len(asked.Options) > 0:
		options := slices.Clone(asked.Options)
		if at := slices.Index(options, "edit"); at >= 0 && kind != events.InputClarification {
			options[at] = "edit: what you want otherwise"
		}
		return text + "\n\n- " + strings.Join(options, "\n- ")
	case kind == events.InputApproval:
		return text + "\n\n- yes\n- no"
	}
	return text
}

// Finish returns the text to send so that the answer ends with the given one: nothing if that was just sent, or the rest if its
// beginning was.
func (t *Transcript) Finish(text string) string {
	text = strings.TrimSpace(text)
	last := strings.TrimSpace(t.content.last.String())
	switch {
	case strings.HasSuffix(last, text):
		return ""
	case last != "" && strings.HasPrefix(text, last) && strings.HasSuffix(t.content.last.String(), last):
		return t.content.add(t.content.key, "", text[len(last):])
	}
	return t.content.add("end", "", text)
}

// Said returns the whole answer so far.
func (t *Transcript) Said() string { return t.content.all.String() }

// paragraphs joins the texts of several voices.
type paragraphs struct {
	all  strings.Builder
	last strings.Builder // The text of the latest voice.
	key  string
}

// add appends a piece of a voice and returns it with the separator that must precede it.
func (p *paragraphs) add(key, speaker, text string) string {
	if text == "" {
		return ""
	}
	if p.key != key {
		if speaker != "" {
			text = speaker + ": " + text
		}
		if p.all.Len() > 0 {
			text = "\n\n" + text
		}
		p.key = key
		p.last.Reset()
	}
	p.all.WriteString(text)
	p.last.WriteString(text)
	return text
}
