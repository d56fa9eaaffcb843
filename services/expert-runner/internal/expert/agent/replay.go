package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// The results of a replay.
const (
	ReplaySame     = "same"     // The same as the run reported.
	ReplayDiverged = "diverged" // Different from the journal.
	ReplayOpen     = "open"     // The journal ends before the conversation does: the run waits, was ended from outside, or is running.
)

// Replay is the result of replaying a conversation from its journal.
type Replay struct {
	// SubJob and Run identify the last run of the conversation.
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	// Parts are its conversations in order: the steps of a workflow, then the evaluation; usually only one.
	Parts []ReplayPart `json:"parts"`
	// State is ReplaySame, ReplayDiverged or ReplayOpen; Reason says why it is not the same.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Seq is the journal record at which the replay diverged; Recorded and Replayed are the differing values.
	Seq      uint64          `json:"seq,omitempty"`
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Replayed json.RawMessage `json:"replayed,omitempty"`
	// Ending is how the conversation ended in the replay; nil if it did not.
	Ending *events.SubJobReported `json:"ending,omitempty"`
}

// ReplayPart is one conversation of a run.
type ReplayPart struct {
	// Part is the step, or evaluation; empty for a run with a single conversation.
	Part string `json:"part,omitempty"`
	// Opening contains the messages before the first answer, Tools the names of the usable tools.
	Opening []conversation.Message `json:"opening"`
	Tools   []string               `json:"tools,omitempty"`
	// Turns are the model's answers with the calls that they requested.
	Turns []ReplayTurn `json:"turns"`
}

// ReplayTurn is one answer of a model.
type ReplayTurn struct {
	// Question is the number of the model call, Seq the record of its answer, Run the run that paid for it.
	Question int    `json:"question"`
	Seq      uint64 `json:"seq"`
	Run      int    `json:"run"`
	// Messages counts the messages of the conversation until then; Compressed lists what was shortened before.
	Messages   int                        `json:"messages"`
	Compressed []conversation.Compression `json:"compressed,omitempty"`
	// Model is the model that answered with Text and Calls, in the role Voice if there are several.
	Model string       `json:"model,omitempty"`
	Voice string       `json:"voice,omitempty"`
	Text  string       `json:"text,omitempty"`
	Calls []ReplayCall `json:"calls,omitempty"`
	events.Spent
	TookMS int64 `json:"took_ms"`
}

// ReplayCall is a tool call in an answer.
type ReplayCall struct {
	// Tool, Args and ID are as the model wrote them.
	Tool string `json:"tool"`
	Args string `json:"args,omitempty"`
	ID   string `json:"id,omitempty"`
	// Result is the result of the tool, Seq its record; 0 for a call that needed no tool.
	Result string `json:"result,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	TookMS int64  `json:"took_ms,omitempty"`
}

// player replays a conversation. It ends with done.
type player struct {
	*Recording
	*kept
	run   *run
	shown *Replay
	part  *ReplayPart
	used  map[string]bool // The keys of the results that the conversation used.
	err   error           // An error outside the conversation, such as an unreadable payload.
}

// Replay replays the conversations that end with a run: the same machines, with the journal's records instead of models,
// tools and people. An error says that there is nothing to replay.
func (rec *Recording) Replay(run int) (*Replay, error) {
	k := rec.kept(run)
	p := &player{Recording: rec, kept: k, used: map[string]bool{}, run: rec.player(run), shown: &Replay{SubJob: rec.SubJob, Run: run, Parts: []ReplayPart{}}}
	begun, err := rec.beginnings(k)
	if err == nil {
		p.play(begun)
		err = p.err
	}
	if err != nil {
		return nil, fmt.Errorf("replay run %d of %s: %w", run, rec.SubJob, err)
	}
	return p.shown, nil
}

// player returns the run for a replay, with the answers of people. It can make no effects.
func (rec *Recording) player(number int) *run {
	w := &events.Work{SubJob: rec.SubJob, Run: number, Answers: map[string]events.InputClosed{}}
	for i := range rec.Journal {
		r := &rec.Journal[i]
		var asked events.InputRequested
		if events.Kind(r.Name) == events.KindInputRequested && json.Unmarshal(r.Data, &asked) == nil && slices.Contains(jobrun.Read(rec.Journal).Lineage(number), r.Run) {
			if closed, answered := rec.Answers[asked.Request]; answered {
				w.Answers[asked.Request] = closed
			}
		}
	}
	return &run{Expert: &Expert{}, asked: map[int]int{}, task: &expert.Task{Work: w}}
}

// play replays the conversations one after another, as a run holds them.
func (p *player) play(begun []beginning) {
	var last conversation.Ending
	var had conversation.Before
	for i := range begun {
		b := &begun[i]
		if i > 0 && (begun[i-1].Next == nil || *begun[i-1].Next != b.Part) {
			p.diverges(b.seq, "the journal has the part %q where another one comes", b.Part)
			return
		}
		ending, m := p.converse(b, had)
		if m == nil {
			return
		}
		had = m.So()
		if ending, p.err = p.ending(b, last, ending); p.err != nil {
			return
		}
		if last = ending; last.Outcome != events.Success || last.Incomplete || b.Next == nil {
			p.ends(&last)
			return
		}
	}
	p.behind(&begun[len(begun)-1], had)
}

// behind handles what follows the last recorded conversation: the next one has no answer, or ended before it began.
func (p *player) behind(last *beginning, had conversation.Before) {
	next := *last
	next.Part, next.Rules.Summary = *last.Next, false
	key := questionKey(had.Questions + 1)
	m, err := next.machine(had)
	if p.err = err; err != nil {
		return
	}
	c := m.Next()
	if next.Part == evaluationPart || p.begun[key] != nil || c.Kind != conversation.End {
		p.stops(key)
		return
	}
	ending := of(next.Part, c.Ending)
	p.ends(&ending)
}

// ending returns how a conversation ends for its run.
func (p *player) ending(b *beginning, result, ending conversation.Ending) (conversation.Ending, error) {
	if b.Judges {
		return judged(result, ending)
	}
	return of(b.Part, ending), nil
}

// converse replays one conversation; m is nil if the replay ends in it.
func (p *player) converse(b *beginning, had conversation.Before) (ending conversation.Ending, m *conversation.Machine) {
	p.run.names, p.run.exchange = b.Tools, exchange{part: b.Part, careful: b.Rules.Careful}
	p.shown.Parts = append(p.shown.Parts, ReplayPart{Part: b.Part, Opening: b.Opening, Tools: b.Tools, Turns: []ReplayTurn{}})
	p.part = &p.shown.Parts[len(p.shown.Parts)-1]
	if m, p.err = b.machine(had); p.err != nil {
		return ending, nil
	}
	for p.shown.State == "" && p.err == nil {
		switch c := m.Next(); c.Kind {
		case conversation.Ask:
			if fact := p.asks(&c); fact != nil {
				m.Take(*fact)
			}
		case conversation.Use:
			for _, fact := range p.uses(&c) {
				m.Take(fact)
			}
		default:
			return c.Ending, m
		}
	}
	return ending, nil
}

// asks answers a model call from the journal, if it is the same as the recorded one.
func (p *player) asks(c *conversation.Command) *conversation.Fact {
	key := questionKey(c.Number)
	if !p.sameQuestion(key, c) {
		return nil
	}
	e := p.done[key]
	if e == nil {
		return p.unanswered(key, c.Number)
	}
	raw, ok := p.result(key, e)
	if !ok {
		return nil
	}
	var a answer
	if p.err = json.Unmarshal(raw, &a); p.err != nil {
		return nil
	}
	fact := p.run.answered(&a, c)
	t := ReplayTurn{
		Question: c.Number, Seq: e.Seq, Run: a.Run, Messages: len(c.Messages), Compressed: c.Compressed, Model: a.Model, Voice: c.Voice, Text: fact.Text,
		Spent: events.Spent{Tokens: fact.Tokens}, TookMS: p.took(key),
	}
	if a.CostUSD != nil {
		t.CostUSD = *a.CostUSD
	}
	for _, call := range fact.Calls {
		t.Calls = append(t.Calls, ReplayCall{Tool: call.Name, Args: call.Args, ID: call.ID})
	}
	p.part.Turns = append(p.part.Turns, t)
	return &fact
}

// sameQuestion compares a model call with the recorded one.
func (p *player) sameQuestion(key string, c *conversation.Command) bool {
	e := p.begun[key]
	if e == nil {
		return true // A missing record is reported when its answer is looked up.
	}
	var was question
	if p.err = json.Unmarshal(e.Data, &was); p.err != nil {
		return false
	}
	is := p.run.question(c)
	is.Model = was.Model
	return p.agrees(e.Seq, "question "+key, &was, &is)
}

// agrees compares two values as JSON and records where they differ.
func (p *player) agrees(seq uint64, what string, recorded, replayed any) bool {
	was, err := json.Marshal(recorded)
	if err != nil {
		p.err = err
		return false
	}
	is, err := json.Marshal(replayed)
	if err != nil {
		p.err = err
		return false
	}
	if bytes.Equal(was, is) {
		return true
	}
	p.diverges(seq, "%s is not what the journal has", what)
	p.shown.Recorded, p.shown.Replayed = was, is
	return false
}

func (p *player) diverges(seq uint64, format string, args ...any) {
	p.shown.State, p.shown.Seq, p.shown.Reason = ReplayDiverged, seq, fmt.Sprintf(format, args...)
}

// result reads a recorded result and marks it as used.
func (p *player) result(key string, e *jobrun.Entry) (raw json.RawMessage, ok bool) {
	p.used[key] = true
	raw, p.err = p.data(e)
	return raw, p.err == nil
}

// unanswered handles a model call without an answer: it did not fit the model and was repeated in a shorter form, it
// failed, or the journal ends.
func (p *player) unanswered(key string, number int) *conversation.Fact {
	e := p.failed[key]
	report := p.report()
	switch {
	case e != nil && p.begun[questionKey(number+1)] != nil:
		return &conversation.Fact{Kind: conversation.Failed, TooLong: true}
	case e != nil && report != nil && report.Error != nil:
		fault := *report.Error
		fault.Message = strings.TrimPrefix(strings.TrimPrefix(fault.Message, inStep(p.part.Part)), unjudged)
		return &conversation.Fact{Kind: conversation.Failed, Outcome: report.Outcome, Fault: fault, RetryAfter: report.RetryAfter.Std()}
	}
	p.stops(key)
	return nil
}

// stops ends the replay where the journal ends.
func (p *player) stops(key string) {
	report := p.report()
	switch {
	case report != nil && report.Outcome == events.Success:
		p.diverges(p.ended.Seq, "the run has reported a SUCCESS, the replay goes on with %s, which the journal does not have", key)
	case report != nil:
		p.shown.State, p.shown.Reason = ReplayOpen, fmt.Sprintf("the run was ended before %s: %s", key, faultOf(report))
	case p.ended != nil && p.ended.Type == events.JournalClosed:
		p.shown.State, p.shown.Reason = ReplayOpen, fmt.Sprintf("the run was closed before %s: %s", key, p.ended.Reason)
	case p.ended != nil:
		p.shown.State, p.shown.Reason = ReplayOpen, fmt.Sprintf("the run waits before %s: %s", key, promptOf(p.ended))
	default:
		p.shown.State, p.shown.Reason = ReplayOpen, "the journal ends before "+key
	}
}

func faultOf(r *events.SubJobReported) string {
	if r.Error == nil {
		return string(r.Outcome)
	}
	return r.Error.Error()
}

func promptOf(e *jobrun.Entry) string {
	var asked events.InputRequested
	if json.Unmarshal(e.Data, &asked) != nil {
		return "for an answer"
	}
	return asked.Prompt
}

// uses answers tool calls from the journal. The tools themselves are not needed.
func (p *player) uses(c *conversation.Command) (facts []conversation.Fact) {
	shown := &p.part.Turns[len(p.part.Turns)-1]
	for _, i := range c.Pending {
		call, key := &c.Calls[i], itemOf(c.Number, i)
		text, e, ok := p.observed(call, c.Number, i)
		if !ok {
			return nil
		}
		shown.Calls[i].Result = text
		if e != nil {
			shown.Calls[i].Seq, shown.Calls[i].TookMS = e.Seq, p.took(key)
		}
		facts = append(facts, conversation.Fact{Kind: conversation.Observed, Call: i, Result: text})
	}
	return facts
}

// observed returns the result of a call, and its record if there is one.
func (p *player) observed(call *conversation.Call, number, i int) (text string, e *jobrun.Entry, ok bool) {
	key := itemOf(number, i)
	if e = p.done[key]; e == nil {
		text, ok = p.spoken(call, number, i)
		return text, nil, ok
	}
	if name := effectName(call.Name); e.Name != name && !p.agrees(e.Seq, key, e.Name, name) {
		return "", nil, false
	}
	raw, ok := p.result(key, e)
	if len(raw) == 0 {
		return personSays, e, ok
	}
	text, _, _ = observation(raw)
	return text, e, ok
}

// spoken returns the answer to a call that needs no tool: the tool does not exist, or it asks a person.
func (p *player) spoken(call *conversation.Call, number, i int) (text string, ok bool) {
	switch {
	case !slices.Contains(p.run.names, call.Name):
		return p.run.unknown(call.Name), true
	case call.Name != AskPerson:
		p.stops(itemOf(number, i))
		return "", false
	}
	args, err := p.run.arguments(call)
	if err != nil {
		p.stops(itemOf(number, i))
		return "", false
	}
	text, asked := p.run.person(number, i, args)
	if asked != nil {
		p.stops(itemOf(number, i))
	}
	return text, asked == nil
}

// ends compares the ending with the run's report.
func (p *player) ends(e *conversation.Ending) {
	ending := p.run.report(e)
	ending.Sign("", ending.Report.Started, ending.Report.Started)
	is := ending.Report
	is.Spent = events.Spent{}
	p.shown.Ending = is
	for _, key := range slices.Sorted(maps.Keys(p.done)) {
		if (strings.HasPrefix(key, questions) || strings.HasPrefix(key, items)) && !p.used[key] {
			p.diverges(p.done[key].Seq, "the replay is at its end, the journal goes on with %s", key)
			return
		}
	}
	was := p.report()
	switch {
	case p.ended == nil:
		p.shown.State, p.shown.Reason = ReplayOpen, "the journal has no report of the run"
	case was == nil && p.ended.Type == events.JournalClosed:
		p.shown.State, p.shown.Reason = ReplayOpen, "the run was closed before its report: "+p.ended.Reason
	case was == nil:
		p.diverges(p.ended.Seq, "the replay is at its end, the run waits: %s", promptOf(p.ended))
	default:
		p.compare(was, *is)
	}
}

// compare compares two reports in those fields that a conversation decides. A large output is stored as a blob.
func (p *player) compare(was *events.SubJobReported, is events.SubJobReported) {
	decided := events.SubJobReported{Outcome: was.Outcome, Output: was.Output, OutputRef: was.OutputRef, Lesson: was.Lesson, Error: was.Error, RetryAfter: was.RetryAfter}
	if was.OutputRef != nil {
		raw, err := p.Blob(*was.OutputRef)
		if p.err = err; err != nil {
			return
		}
		decided.Output, decided.OutputRef = raw, nil
	}
	if p.agrees(p.ended.Seq, "the report", &decided, &is) {
		p.shown.State = ReplaySame
	}
}
