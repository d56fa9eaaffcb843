package stack_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// siegeToken is the token of an admin of the gateway.
const siegeToken = "0123456789abcdef0123456789abcdef"

// screen is what one reader of live items has seen.
type screen struct {
	mu   sync.Mutex
	seen strings.Builder
	over bool
	once sync.Once
}

func (c *screen) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.WriteString(text + "\n")
}

func (c *screen) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

func (c *screen) shows(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.seen.String(), text)
}

func (c *screen) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Items of a run that only its runner may publish.
var forgedItems = []item.Item{
	{Type: item.Text, ID: "answer/1", Run: 1, Text: "forged text. "},
	{Type: item.Thinking, ID: "thought/1", Run: 1, Text: "forged thought. "},
	{Type: item.Tool, ID: "tool/1/1", Run: 1, Tool: "forged", Args: `{"forged":true}`},
	{Type: item.Question, ID: "question/1", Run: 1, Request: "forged", Text: "forged question?", Done: true},
	{Type: item.Log, ID: "log", Run: 1, Text: "forged line\n"},
	{Type: item.Text, ID: "answer/2", Text: "forged text without a run. "},
	{Type: item.Text, ID: "answer/1", Run: 2, Text: "forged text of a run to come. "},
	{Type: item.Progress, ID: "consulted", Run: 1, Pool: "m", Text: "forged announcement", Done: true},
}

// fake publishes items, pieces and milestones in the name of a run, of planning, and of an expert that the planner consults, on the subjects
// without a pool, with the pool of the run, and with the pool of the attacker.
func fake(h *hand, v victim) {
	n := h.admin.Names()
	body := musttest.Get(item.Encode(forgedItems))(h)
	planned, _ := item.Encode([]item.Item{{Type: item.Text, ID: "p/answer", Run: 1, Text: "forged answer of the planner. "}}) // It can be encoded.
	for _, pool := range []string{"", v.pool, "m"} {
		h.say(item.LiveSubjects(n).In(v.job, v.subjob, pool), string(body))
		h.say(item.LiveSubjects(n).In(v.job, events.PlanID, pool), string(planned))
		h.say(item.LiveSubjects(n).In(v.job, events.PlanID+"~1~look-1", pool), string(body))
		h.say(item.LiveSubjects(n).Passing(v.job, v.subjob, pool), `{"item":"answer/1","text":"forged piece"}`)
		h.forge(events.Event{
			Kind: events.KindSubJobProgressed, Job: v.job, SubJob: v.subjob, Run: 1, Pool: pool, Source: "a-foreign-worker",
			Data: &events.SubJobProgressed{Message: "forged milestone"},
		})
	}
}

// shown are attacks on those who watch a job.
func shown() []attack {
	forged := func(_ *siege, v victim, _ []*hand) bool { return v.screen.shows("forged") }
	return []attack{
		{"live items for a watcher", (*siege).watched, fake, func(s *siege, v victim, by []*hand) bool {
			s.mark(v)
			return forged(s, v, by)
		}, nil},
		{"pieces for a reader of the gateway", (*siege).streamed, fake, func(s *siege, v victim, _ []*hand) bool {
			s.mark(v)
			return v.screen.shows("forged piece")
		}, nil},
		{"milestones for a watcher", (*siege).watched, fake, func(s *siege, v victim, _ []*hand) bool {
			s.mark(v)
			return v.screen.shows("forged milestone")
		}, nil},
		{"live items for a reader of the gateway", (*siege).streamed, fake, func(s *siege, v victim, by []*hand) bool {
			s.mark(v)
			return forged(s, v, by)
		}, nil},
		{"an answer of the OpenAI-compatible API", (*siege).chatted, fake, func(s *siege, v victim, by []*hand) bool {
			v.screen.once.Do(func() {
				s.mark(v)
				s.report(v, "honest")
			})
			s.until("the end of the answer", v.screen.ended)
			if !v.screen.shows("honest") {
				s.Error("the answer has not come")
			}
			return forged(s, v, by)
		}, nil},
		{"live items of a job to come", (*siege).coming, fake, func(s *siege, v victim, _ []*hand) bool {
			if _, err := s.admin.Get(s.Context(), v.job); err != nil {
				s.played(v)
			}
			return strings.Contains(s.stored(v), "forged")
		}, nil},
		{"the log of a run", (*siege).queued, fake, func(s *siege, v victim, _ []*hand) bool {
			w, err := s.boss.Logs().Written(s.Context(), v.job, v.subjob, 1)
			return err == nil && strings.Contains(w.Log, "forged")
		}, nil},
	}
}

// watched is queued with a reader that has begun.
func (s *siege) watched() victim {
	s.Helper()
	v := s.queued()
	v.screen = &screen{}
	ctx, stop := context.WithCancel(s.Context())
	var reader sync.WaitGroup
	reader.Go(func() { // Ends with the test.
		for i, err := range s.boss.Live(ctx, v.job, client.LiveOptions{}) {
			if err == nil {
				v.screen.add(string(i.Type) + " " + i.Text + i.Tool)
			}
		}
	})
	s.Cleanup(reader.Wait)
	s.Cleanup(stop)
	s.ready(v)
	return v
}

// streamed is queued with a reader of server-sent events that has begun.
func (s *siege) streamed() victim {
	s.Helper()
	v := s.queued()
	v.screen = &screen{}
	s.stream(v, http.MethodGet, "/api/v1/jobs/"+v.job+"/live", "")
	s.ready(v)
	return v
}

// chatted is a job in the form of a question over the OpenAI-compatible API. Its work waits.
func (s *siege) chatted() victim {
	s.Helper()
	v := s.unserved()
	v.session, v.screen = "s-"+strings.ToLower(rand.Text()), &screen{}
	s.stream(v, http.MethodPost, "/v1/chat/completions", `{"model":"`+v.pool+`","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	s.until("the job of the question", func() bool {
		jobs, err := s.admin.List(s.Context(), client.Query{Session: v.session})
		if err != nil || len(jobs) == 0 {
			return false
		}
		v.job = jobs[0].ID
		m, err := s.admin.Bus().Streams().LastOn(s.Context(), s.admin.Names().Work, "jobs.work."+v.pool+".*."+v.job+".>")
		var w events.Work
		if err != nil || events.ReadWork(m.Body, &w) != nil {
			return false
		}
		v.subjob = w.SubJob
		return true
	})
	s.ready(v)
	return v
}

// stream reads a stream of the gateway to its end.
func (s *siege) stream(v victim, method, path, body string) {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	r := musttest.Get(http.NewRequestWithContext(ctx, method, s.stack.HTTP()+path, strings.NewReader(body)))(s)
	r.Header.Set("Authorization", "Bearer "+siegeToken)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if v.session != "" {
		r.Header.Set("Jobgraph-Session", v.session)
	}
	var reader sync.WaitGroup
	reader.Go(func() { // Ends with the stream, or with the test.
		defer v.screen.end()
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			v.screen.add(err.Error())
			return
		}
		defer func() { _ = answer.Body.Close() }() // The body has been read.
		for buffer := make([]byte, 4096); ; {
			n, err := answer.Body.Read(buffer)
			v.screen.add(string(buffer[:n]))
			if err != nil {
				return
			}
		}
	})
	s.Cleanup(reader.Wait)
	s.Cleanup(stop)
}

// ready waits until the reader of a victim sees what the engine publishes.
func (s *siege) ready(v victim) {
	s.Helper()
	s.until("the saved run", func() bool {
		j, err := s.admin.Get(s.Context(), v.job)
		return err == nil && slices.ContainsFunc(j.SubJobs, func(n client.SubJob) bool { return n.ID == v.subjob && n.Run > 0 })
	})
	s.until("the first item", func() bool {
		s.tell(v, "the reader is there")
		return v.screen.shows("the reader is there")
	})
}

// mark waits until the reader of a victim has seen everything that was published before.
func (s *siege) mark(v victim) {
	s.Helper()
	mark := "mark " + rand.Text()
	s.tell(v, mark)
	s.until("the mark", func() bool { return v.screen.shows(mark) })
}

// tell publishes a text as the engine does.
func (s *siege) tell(v victim, text string) {
	s.Helper()
	body, err := item.Encode([]item.Item{{Type: item.Thinking, ID: "mark/" + rand.Text(), Run: 1, Text: text, Done: true}})
	var ack bus.Ack
	if err == nil {
		ack, err = s.admin.Bus().Items().Confirm(v.job, v.subjob, "", body)
	}
	if err == nil {
		_, err = ack.Wait(s.Context())
	}
	if err != nil {
		s.Fatal(err)
	}
}

// stored returns what is stored of the live items of a job, for the client and over HTTP.
func (s *siege) stored(v victim) string {
	s.Helper()
	var all strings.Builder
	for m, err := range s.boss.Logs().Items(s.Context(), v.job, "", 0) {
		if err != nil {
			s.Fatal(err)
		}
		all.Write(must(json.Marshal(m.Items)))
	}
	r := musttest.Get(http.NewRequestWithContext(s.Context(), http.MethodGet, s.stack.HTTP()+"/api/v1/jobs/"+v.job+"/live", http.NoBody))(s)
	r.Header.Set("Authorization", "Bearer "+siegeToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	all.Write(must(io.ReadAll(answer.Body)))
	return all.String()
}

func must(text []byte, err error) []byte {
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// report ends the run of a victim as its runner would.
func (s *siege) report(v victim, output string) {
	s.Helper()
	pool := v.pool
	if s.layout == nil {
		pool = ""
	}
	m, err := events.Encode(s.admin.Names(), events.Event{
		ID: "report", Source: "a-worker", Kind: events.KindSubJobReported, Job: v.job, SubJob: v.subjob, Run: 1, Pool: pool,
		Data: &events.SubJobReported{Outcome: events.Success, Output: must(json.Marshal(output))},
	})
	if err == nil {
		_, err = s.admin.Bus().Publish(s.Context(), m, bus.Expect{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// muttering is the card of an expert that writes a line to standard error.
func muttering(t *testing.T) string {
	t.Helper()
	card := filepath.Join(t.TempDir(), "mutter.md")
	musttest.Do(t, os.WriteFile(card, []byte("---\nname: Mutter\ndescription: Mutters.\nkind: command\nsandbox: none\ncommand: [/bin/sh, -c, 'echo hm >&2; cat']\n---\n"), 0o600))
	return card
}

// TestWhatARunShowsIsSeenWithRoles has our runner show what a program says, and a foreign worker items on the subject that its work names,
// a milestone, and a piece.
func TestWhatARunShowsIsSeenWithRoles(t *testing.T) {
	l, k := fortress(t, secure.Change{Add: []access.Identity{
		{Name: "boss", Role: access.Client, User: "boss"}, {Name: "worker", Role: access.Runner, Pools: []string{"far"}},
	}}, shouting(t), muttering(t))
	s := (&siege{TB: t, stack: k, layout: l}).open()
	mine, _ := s.begin(events.Request{ID: "mine", Goal: "mutter", Expert: "Mutter"}, events.KindJobFinished)
	s.until("what the program says", func() bool {
		for m, err := range s.boss.Logs().Items(t.Context(), mine.job, "", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Pool == events.DefaultPool && slices.ContainsFunc(m.Items, func(i item.Item) bool { return i.Type == item.Log && strings.Contains(i.Text, "hm") }) {
				return true
			}
		}
		return false
	})
	v := s.of("far")
	worker := s.enter("worker")
	q := worker.Bus().Queues()
	musttest.Do(t, q.EnsurePool(t.Context(), "far"))
	s.wait(v)
	v.screen = &screen{}
	s.stream(v, http.MethodGet, "/api/v1/jobs/"+v.job+"/live", "")
	s.ready(v)
	sub := musttest.Get(q.Consume(t.Context(), q.PoolConsumer("far")))(t)
	defer sub.Stop()
	list := musttest.Get(sub.Next(t.Context(), 1))(t)
	var w events.Work
	musttest.Do(t, events.ReadWork(list[0].Message().Body, &w))
	h := &hand{siege: s, name: "worker", nc: s.attacker("worker").nc, bus: worker}
	h.loot = s.attacker("worker").loot
	h.say(w.ItemSubject, `{"type":"text","id":"answer/1","run":1,"text":"of its run"}`)
	h.say(w.ItemSubject, `{"type":"text","id":"answer/2","text":"without a run"}`)
	h.say(fmt.Sprintf("jobs.live.%s.a.far", v.job), `{"message":"a piece"}`)
	m, err := events.Encode(worker.Names(), events.Event{
		ID: "p", Source: "worker", Kind: events.KindSubJobProgressed, Job: v.job, SubJob: "a", Run: 1, Pool: "far", Data: &events.SubJobProgressed{Message: "a milestone"},
	})
	if err == nil {
		_, err = worker.Bus().Publish(t.Context(), m, bus.Expect{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"of its run", "without a run", "a piece", "a milestone"} {
		s.until(what, func() bool { return v.screen.shows(what) })
	}
}
