package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// at is a time in a campaign, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// scene is one SubJob of a campaign.
type scene struct {
	expert string
	// marks are lines of programs, with seconds instead of times.
	marks   []string
	journal []run.Entry
	reports []events.Event
	answers []answer
	asked   float64 // When a person was asked about run 1; 0 for never.
}

func record(seconds float64, kind events.JournalType, number int, key, data string) run.Entry {
	r := events.JournalRecord{Type: kind, Run: number, Owner: "o", Key: key, Name: key, Data: json.RawMessage(data)}
	return run.Entry{JournalRecord: r, Time: at(seconds)}
}

func reported(seconds float64, number int, outcome events.Outcome) events.Event {
	return events.Event{Kind: events.KindSubJobReported, SubJob: "s", Run: number, Time: at(seconds), Data: &events.SubJobReported{Outcome: outcome}}
}

// judge returns the findings and counts.
func (s *scene) judge(t *testing.T) *Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "marks")
	var text strings.Builder
	for _, line := range s.marks {
		fields := strings.Fields(line)
		var seconds float64
		musttest.Get(fmt.Sscan(fields[3], &seconds))(t)
		fmt.Fprintf(&text, "%s j s %s %s %d\n", fields[0], fields[1], fields[2], at(seconds).UnixNano())
	}
	if err := os.WriteFile(path, []byte(text.String()+"begin j s 1"), 0o600); err != nil { // The last writer was killed.
		t.Fatal(err)
	}
	marks := musttest.Get(readMarks(path))(t)
	j := &judged{
		job: "j", marks: marks, answers: map[[2]string]answer{}, experts: map[string]string{"s": s.expert},
		reports: map[string][]events.Event{"s": s.reports}, report: &Report{},
	}
	for i, a := range s.answers {
		a.subjob = "s"
		j.answers[[2]string{"j", fmt.Sprint(i)}] = a
	}
	if s.asked > 0 {
		j.question(&events.Event{SubJob: "s", Run: 1, Time: at(s.asked), Data: &events.InputRequested{Request: "q", Kind: events.InputUnknown}}, s.journal)
	}
	j.executions("s", s.journal)
	return j.report
}

func TestEachPromiseThatIsBrokenIsFound(t *testing.T) {
	one := []string{"begin 1 7 1", "alive 1 7 2", "end 1 7 3"}
	died := []string{"begin 1 7 1", "alive 1 7 2"}
	again := append(slices.Clone(died), "begin 2 8 5", "end 2 8 6")
	beside := append(slices.Clone(died), "begin 2 8 5", "alive 1 7 6", "end 2 8 7")
	success := `{"outcome":"SUCCESS"}`
	for name, c := range map[string]struct {
		scene
		want []string
	}{
		"nothing":                        {scene{expert: once, marks: one, reports: []events.Event{reported(3.1, 1, events.Success)}}, nil},
		"repeated, as it may be":         {scene{expert: steady, marks: again}, nil},
		"beside the first, as it may be": {scene{expert: steady, marks: beside}, nil},
		"repeated unasked":               {scene{expert: once, marks: again}, []string{"repeated unasked"}},
		"alive twice":                    {scene{expert: once, marks: beside}, []string{"alive twice", "repeated unasked"}},
		"repeated as a person said":      {scene{expert: once, marks: again, answers: []answer{{choice: run.Retry, at: at(4)}}}, nil},
		"a person said so before":        {scene{expert: once, marks: again, answers: []answer{{choice: run.Retry, at: at(0.5)}}}, []string{"repeated unasked"}},
		"a person said it came off":      {scene{expert: once, marks: again, answers: []answer{{choice: run.Success, at: at(4)}}}, []string{"repeated unasked"}},
		"it had failed":                  {scene{expert: once, marks: again, reports: []events.Event{reported(4, 1, events.ExecutionError)}}, nil},
		"after a finish in the log":      {scene{expert: steady, marks: again, reports: []events.Event{reported(4, 1, events.Success)}}, []string{"repeated after a finish"}},
		"reported after a person was asked": {
			scene{expert: once, marks: again, reports: []events.Event{reported(4, 1, events.Success)}, answers: []answer{{choice: run.Retry, at: at(4.5)}}}, nil,
		},
		"after a finish in the journal": {
			scene{expert: steady, marks: again, journal: []run.Entry{record(4, events.JournalReported, 1, "", success)}},
			[]string{"repeated after a finish"},
		},
		"begun after a close":   {scene{expert: steady, marks: one, journal: []run.Entry{record(0.5, events.JournalClosed, 1, "", "null")}}, []string{"begun after a close"}},
		"begun before a close":  {scene{expert: steady, marks: one, journal: []run.Entry{record(1.5, events.JournalClosed, 1, "", "null")}}, nil},
		"a lower run is closed": {scene{expert: steady, marks: []string{"begin 2 7 1"}, journal: []run.Entry{record(0.5, events.JournalClosed, 1, "", "null")}}, nil},
		"asked with reason":     {scene{expert: once, marks: died, asked: 4, journal: []run.Entry{record(1, events.JournalIntent, 1, "command", "null")}}, nil},
		"asked although it is known": {
			scene{expert: once, marks: one, asked: 4, journal: []run.Entry{record(1, events.JournalIntent, 1, "command", "null"), record(3, events.JournalResult, 1, "command", "null")}},
			[]string{"needless questions"},
		},
	} {
		r := c.judge(t)
		if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(r.Violations))); diff != "" {
			t.Errorf("%s: %s\n%v", name, diff, r.Violations)
		}
		if r.Sound() != (len(c.want) == 0) {
			t.Errorf("%s: sound %v", name, r.Sound())
		}
		for found := range r.Violations { // any order: each is looked up.
			if !slices.Contains(names(), found) {
				t.Errorf("%s: %q is not printed", name, found)
			}
		}
	}
}

func TestWhatIsRepeatedAsDeclaredIsCounted(t *testing.T) {
	s := scene{expert: steady, marks: []string{"begin 1 7 1", "begin 2 8 5", "alive 1 7 6", "end 2 8 7"}, asked: 0.5}
	r := s.judge(t)
	if r.Executions != 2 || r.Repeated != 1 || r.Twice != 1 || r.Questions != 1 || r.NeverBegun != 1 {
		t.Errorf("%+v", r)
	}
}
