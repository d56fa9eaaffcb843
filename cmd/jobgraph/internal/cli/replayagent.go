package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// agentFaults returns the faults of conflicting flags.
func (f *replayFlags) agentFaults() error {
	switch folds := f.until > 0 || f.speed > 0 || f.step || f.diff || f.publish != ""; {
	case f.agent && folds:
		return usageError{errors.New("--agent replays journals: leave out --until-seq, --speed, --step, --diff and --publish, which are about the log")}
	case !f.agent && f.subjob != "":
		return usageError{errors.New("--subjob is for --agent")}
	}
	return nil
}

// replayAgents replays the conversations of agents, and exits with 1 if one differs from its journal.
func (g replays) replayAgents(x *client.Export, subjob string) error {
	list, err := runner.ReplayAgents(x, subjob)
	if err != nil {
		return err
	}
	if g.app.machine() {
		err = output.Value(g.app.sys.Stdout, g.app.output, list)
	} else {
		err = g.printReplays(list)
	}
	for _, r := range list {
		if err == nil && r.State == runner.ReplayDiverged {
			err = outcome(ExitFailed)
		}
	}
	return err
}

func (g replays) printReplays(list []*runner.Replay) error {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, output.Clean(text)) }
	for i, r := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  run %d\n", output.Clean(r.SubJob), r.Run)
		for i := range r.Parts {
			writePart(line, &r.Parts[i])
		}
		if r.Ending != nil {
			line("end", endText(r.Ending))
		}
		writeVerdict(&b, r)
	}
	return g.app.printf("%s", b.String())
}

// writePart prints one conversation.
func writePart(line func(name, text string), part *runner.ReplayPart) {
	if part.Part != "" {
		line("part", part.Part)
	}
	for _, m := range part.Opening {
		line(string(m.Role), short(oneLine(m.Text), 100))
	}
	for _, t := range part.Turns {
		line(fmt.Sprintf("answer %d", t.Question), turnText(&t.Spent, t.TookMS, t.Voice, t.Text))
		for _, c := range t.Calls {
			line("  "+c.Tool, short(oneLine(c.Args), 100))
			if c.Result != "" {
				line("    gave", short(oneLine(c.Result), 100))
			}
		}
	}
}

func turnText(spent *events.Spent, took int64, voice, text string) string {
	cost := ""
	if spent.CostUSD > 0 {
		cost = fmt.Sprintf(", %.4f USD", spent.CostUSD)
	}
	if voice != "" {
		voice += " "
	}
	head := voice + fmt.Sprintf("(%d tokens%s, %s)", spent.Tokens, cost, time.Duration(took)*time.Millisecond)
	return strings.TrimRight(head+" "+short(oneLine(text), 100), " ")
}

func endText(e *events.SubJobReported) string {
	if e.Error != nil {
		return string(e.Outcome) + " " + e.Error.Error()
	}
	return string(e.Outcome) + " " + short(oneLine(readable(e.Output)), 100)
}

// writeVerdict prints whether the replay matches the journal.
func writeVerdict(b *strings.Builder, r *runner.Replay) {
	switch r.State {
	case runner.ReplaySame:
		fmt.Fprintf(b, "  the same as run %d has reported\n", r.Run)
	case runner.ReplayOpen:
		fmt.Fprintf(b, "  %s\n", output.Clean(r.Reason))
	default:
		fmt.Fprintf(b, "  diverges at record %d of the journal: %s\n", r.Seq, output.Clean(r.Reason))
		for _, side := range []struct {
			name string
			text json.RawMessage
		}{{"recorded", r.Recorded}, {"replayed", r.Replayed}} {
			if side.text != nil {
				fmt.Fprintf(b, "    %s %s\n", side.name, output.Clean(short(string(side.text), 300)))
			}
		}
	}
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
