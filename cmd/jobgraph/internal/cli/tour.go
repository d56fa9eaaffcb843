package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/demo"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// stop is one stop of the tour: what it shows, and the command.
type stop struct {
	says string
	args []string
}

// stops returns the stops of the tour, which are about the job of the demonstrations.
func stops(plan string) []stop {
	return []stop{
		{"An expert is a card and something that does the work: a model with tools, a service, a program, a person.", []string{"experts", "list"}},
		{"A plan says what has to be done, by whom, and what comes before what.", []string{"graph", "-f", plan, "-o", "ascii"}},
		{"A job runs it. What is ready is started at once, side by side.", []string{"run", "--plan", plan, "--input", "order=7", "--id", demo.Job}},
		{"Everything that happened is an event in one stream, in order.", []string{"events", demo.Job}},
		{"The state of the job is the fold of these events: here again, event by event.", []string{"replay", demo.Job}},
		{"What a step has asked of models and tools is kept, with what it cost and took: after a crash nothing of it is asked again.", []string{"describe", demo.Job + "/note"}},
	}
}

// tour runs the commands in order on an embedded bus.
func (g demos) tour() (err error) {
	s, err := g.set(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.strike()) }()
	text, err := json.MarshalIndent(demo.Plan(), "", "  ")
	if err != nil {
		return err
	}
	plan := filepath.Join(s.dir, "plan.json")
	if err := os.WriteFile(plan, text, 0o600); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	env := map[string]string{"NATS_URL": s.stack.Server().URL(), "NO_COLOR": "1", "TERM": "dumb"} // Dumb: the output of a command stays below that of the one before.
	for i, at := range stops(plan) {
		if err := g.app.soft.Err(); err != nil {
			return err
		}
		if err := g.app.printf("%s\n\n$ jobgraph %s\n", g.app.fit(fmt.Sprintf("%d. %s", i+1, at.says), 3), strings.ReplaceAll(strings.Join(at.args, " "), s.dir+"/", "")); err != nil {
			return err
		}
		if code := g.visit(at, env); code != 0 {
			return fmt.Errorf("jobgraph %s ended with exit code %d", at.args[0], code)
		}
		if err := g.app.printf("\n"); err != nil {
			return err
		}
	}
	return g.app.printf("%s", g.app.fit("What next:\n  jobgraph demo crash   kills a runner with -9 in the middle of its calls, and counts what was made twice: nothing\n"+
		"  jobgraph up           keeps a bus, a planner, a scheduler and a runner here for your own jobs and experts\n", 24))
}

// visit runs one command in this process, as a user would.
func (g demos) visit(at stop, env map[string]string) int {
	return Main(System{
		System: host.System{
			Args: at.args, Stdout: g.app.sys.Stdout, Stderr: g.app.sys.Stderr, Signals: make(chan os.Signal),
			Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		},
		Size: g.app.sys.Size, Columns: g.app.sys.Columns, Stdin: strings.NewReader(""), Now: time.Now,
	})
}
