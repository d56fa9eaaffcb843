package graph

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// missing writes golden files that do not exist. It never replaces one: a log that was folded once folds the same for ever, and a
// decision that has to change gets a further version of the rules, with separate logs.
var missing = flag.Bool("missing", false, "write the golden files that do not exist")

// entry is one message of a recorded log.
type entry struct {
	Seq     uint64              `json:"seq"`
	Time    time.Time           `json:"time"`
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"header"`
	Body    string              `json:"body"`
}

func TestGoldenLogsFoldToTheSameBytesAndCommandsForEver(t *testing.T) {
	if *missing {
		minute := events.Duration(time.Minute)
		script := func(change func(*events.Rules), play func(*engine)) func() []events.Event {
			return func() []events.Event {
				g := start(t, change)
				play(g)
				return g.log
			}
		}
		random := func(seed uint64) func() []events.Event {
			return func() []events.Event {
				w := newSimulation(&dice{t: t, seed: seed}, nil)
				for range 250 {
					w.act()
				}
				w.finish(w.succeed)
				return w.log
			}
		}
		for name, play := range map[string]func() []events.Event{
			"retries": script(nil, func(g *engine) {
				g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"), sub("d", "b", "c"))
				g.outcome("a", events.ExecutionError, "first")
				g.pass(time.Minute)
				g.outcome("a", events.ExecutionError, "second")
				g.pass(time.Minute)
				g.succeed("a", "b", "c", "d")
			}),
			"complaints": script(func(r *events.Rules) { r.Finalize = "expert:writer" }, func(g *engine) {
				g.plan("~plan", sub("a"), sub("b"), sub("c", "a", "b"), sub("d", "a"))
				g.succeed("a", "b")
				g.tell(events.KindSubJobStarted, "d", 1, "", &events.SubJobStarted{})
				delete(g.orders, "d/1")
				g.outcome("c", events.InputDataError, "they disagree")
				g.tell(events.KindSubJobReported, "d", 1, "", &events.SubJobReported{Outcome: events.InputDataError, Lesson: "late"})
				g.succeed("a", "b", "c", "d", "~final")
			}),
			"split": script(nil, func(g *engine) {
				g.plan("~plan", sub("p"), sub("x", "p"), sub("y", "x"))
				g.succeed("p")
				g.outcome("x", events.TooComplicated, "too big")
				g.plan("x", sub("l"), sub("m", "l"), sub("r", "l"))
				g.succeed("x~2~l")
				g.outcome("x~2~m", events.TooComplicated, "still")
				g.plan("x~2~m", sub("n"))
				g.succeed("x~2~m~2~n", "x~2~r")
				g.outcome("y", events.InputDataError, "no")
				g.succeed("x~2~m~2~n", "x~2~r", "y")
			}),
			"stop-and-recover": script(func(r *events.Rules) { r.Concurrency = 2 }, func(g *engine) {
				g.plan("~plan", sub("a"), sub("b"), sub("c"), sub("d", "a"))
				g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
				delete(g.orders, "a/1")
				g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{Reason: "enough", By: "me"})
				g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{By: "me"})
				g.pass(time.Minute)
				g.succeed("b", "c", "a", "d")
			}),
			"replan": script(func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan }, func(g *engine) {
				g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"))
				g.succeed("a")
				g.outcome("b", events.ExecutionError, "cannot")
				g.succeed("c")
				g.plan("~plan", sub("e", "a", "c"), sub("f", "e"))
				g.succeed("e")
				g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 2, Plan: &events.Plan{Title: "edited", SubJobs: []events.SubJob{sub("e"), sub("g", "e")}}})
				g.succeed("g")
			}),
			"people": script(func(r *events.Rules) { r.Deadline = events.Duration(48 * time.Hour) }, func(g *engine) {
				timed := sub("b")
				timed.Timeout = &minute
				g.plan("~plan", sub("a"), timed)
				g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q1", Kind: events.InputApproval, Prompt: "may I?", ExpiresIn: events.Duration(24 * time.Hour), Default: json.RawMessage(`{"approved":false}`)})
				g.tell(events.KindSubJobStarted, "b", 1, "", &events.SubJobStarted{})
				delete(g.orders, "b/1")
				g.pass(2 * time.Minute)
				g.tell(events.KindInputRequested, "b", g.take("b"), "", &events.InputRequested{Request: "q2", Kind: events.InputTimer, ExpiresIn: minute})
				g.pass(2 * time.Minute)
				g.succeed("b")
				g.pass(25 * time.Hour)
				g.succeed("a")
			}),
			"conditions": script(nil, func(g *engine) {
				b, c := sub("b", "a", "known"), sub("c", "a")
				b.When, c.When = "a.files > 0 and known.ok", "not (a.files > 0)"
				g.plan("~plan", sub("a"), given("known", `{"ok":true}`), b, c, sub("d", "b", "c"))
				g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"files":0}`)})
				g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"goal":"look again"}`)})
				g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"files":3}`)})
				g.succeed("b", "d")
			}),
			"failures": script(func(r *events.Rules) { r.Retries, r.FailurePolicy, r.Tokens = 0, events.Continue, 100 }, func(g *engine) {
				g.plan("~plan", sub("a"), sub("b", "a"), sub("c"), sub("d", "c"))
				g.outcome("a", events.ExecutionError, "no")
				g.succeed("c", "d")
				g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "a"})
				g.succeed("a")
				g.report("b", events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: 101}})
			}),
			"words": script(func(r *events.Rules) { r.Version = wordsSince }, func(g *engine) {
				g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Finalize: "report:writer", FinalPool: "own", Plan: &events.Plan{SubJobs: []events.SubJob{sub("a"), sub("b", "a")}}})
				g.succeed("a", "b")
				g.outcome("~final", events.ExecutionError, "write it yourself")
				g.succeed("~final", "~final")
			}),
			"random-1": random(1 << 20), "random-2": random(77 << 20),
		} {
			record(t, "testdata/logs/"+name+".jsonl", play)
		}
	}
	paths, err := filepath.Glob("testdata/logs/*.jsonl")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d logs, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { refold(t, strings.TrimSuffix(path, ".jsonl")) })
	}
}

// record writes a log once.
func record(t *testing.T, path string, play func() []events.Event) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	var out bytes.Buffer
	for _, e := range play() {
		m := musttest.Get(events.Encode(events.NewNames(""), e))(t)
		if e.Fault != nil {
			m.Body = append([]byte("? "), e.Raw...)
			m.Header[events.HeaderSkippable] = []string{fmt.Sprint(e.Fault.Code == events.CodeSkippable)}
		}
		if e.Control {
			m.Subject = events.NewNames("").Control(e.Job)
		}
		line := musttest.JSON(t, entry{e.Seq, e.Time, m.Subject, m.Header, string(m.Body)})
		out.Write(append(line, '\n'))
	}
	musttest.Write(t, path, out.Bytes())
}

// refold folds a log event by event and compares the verdicts, the commands and the saved bytes.
func refold(t *testing.T, path string) {
	file := musttest.Get(os.Open(path + ".jsonl"))(t)
	defer file.Close()
	var job *Job
	var steps bytes.Buffer
	lines := bufio.NewScanner(file)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var l entry
		musttest.Decode(t, lines.Bytes(), &l)
		e, ok := events.Decode(events.NewNames(""), events.Message{Subject: l.Subject, Header: l.Header, Body: []byte(l.Body)})
		if !ok {
			t.Fatalf("%s is no subject of the log", l.Subject)
		}
		e.Seq, e.Time = l.Seq, l.Time
		effect := applied
		if job == nil {
			job = musttest.Get(New(e))(t)
		} else {
			effect = job.Step(e)
		}
		fmt.Fprintf(&steps, "%d %s %s %s\n", e.Seq, e.Kind, effect.Verdict, job.Status)
		describe(t, &steps, job)
	}
	compareFile(t, path+".steps.txt", steps.Bytes())
	var state bytes.Buffer
	musttest.Do(t, json.Indent(&state, musttest.JSON(t, job), "", " "))
	compareFile(t, fmt.Sprintf("%s.state.%d.json", path, FoldVersion), append(state.Bytes(), '\n'))
}

// describe writes the pending commands of a job, field by field so that new fields do not matter, and marks them as delivered.
func describe(t *testing.T, out *bytes.Buffer, job *Job) {
	t.Helper()
	for commands := job.Pending(); len(commands) > 0; commands = job.Pending() {
		for _, c := range commands {
			fmt.Fprintf(out, "  %s %s/%d %s", c.Kind, c.SubJob, c.Run, c.Key)
			if o := c.Order; o != nil {
				fmt.Fprintf(out, " %s for %s in %s, attempt %d resume %d life %d version %d spec %d %s %v lessons %v answers %v select %v finished %v inputs",
					o.Kind, o.Expert, o.Pool, o.Attempt, o.ResumeOf, o.LifeCycle, o.PlanVersion, o.Spec.Seq, o.Spec.ID, o.Spec.Edits, o.Lessons, o.Answers, o.Select, o.Finished)
				inputs(out, o.Inputs)
			}
			if !c.At.IsZero() {
				fmt.Fprintf(out, " at %s", c.At.Format(time.RFC3339Nano))
			}
			if c.Fact != "" {
				data := musttest.JSON(t, c.Data)
				fmt.Fprintf(out, " %s %s expect %d purge %t tails", c.Fact, data, c.Expect, c.PurgeTimers)
				inputs(out, c.Tails)
			}
			fmt.Fprintf(out, " %s\n", c.Reason)
			job.Sent(c.CommandID)
		}
	}
}

func inputs(out *bytes.Buffer, all []Input) {
	for _, in := range all {
		fmt.Fprintf(out, " %s/%d@%d(%d,%t)", in.SubJob, in.Run, in.Seq, in.Spec.Seq, in.Skipped)
	}
}

func compareFile(t *testing.T, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && *missing {
		want, err = slices.Clone(got), os.WriteFile(path, got, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-golden +now): a decision of these rules has changed\n%s", path, diff)
	}
}
