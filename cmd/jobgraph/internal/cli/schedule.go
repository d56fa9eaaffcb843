package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// schedules are the commands about schedules.
type schedules struct{ app *app }

// command returns the commands about jobs that recur.
func (g schedules) command() *cobra.Command {
	remove := func(s client.Schedules, ctx context.Context, id string, w schedule.Word) (*client.Schedule, error) {
		return &client.Schedule{State: schedule.State{ID: id, Status: schedule.Gone}}, s.Delete(ctx, id, w)
	}
	c := group("schedule", "Schedules: jobs that recur", g.createCommand(), g.listCommand(), g.getCommand(), g.runsCommand())
	for _, verb := range []struct {
		name, short string
		do          scheduleAction
	}{
		{"pause", "Pause a schedule until it is resumed", client.Schedules.Pause},
		{"resume", "Resume a schedule; runs that it missed are left out", client.Schedules.Resume},
		{"trigger", "Run a schedule now, and print the id of the job", client.Schedules.Trigger},
		{"delete", "Delete a schedule; its jobs stay", remove},
	} {
		c.AddCommand(g.act(verb.name, verb.short, verb.do))
	}
	return c
}

// scheduleAction changes the schedule with an id.
type scheduleAction func(client.Schedules, context.Context, string, schedule.Word) (*client.Schedule, error)

// act makes a command that changes one schedule.
func (g schedules) act(name, short string, do scheduleAction) *cobra.Command {
	w := schedule.Word{By: g.app.by()}
	c := g.app.connected(name+" ID", short, cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		s, err := do(c.Schedules(), ctx, args[0], w)
		if err != nil {
			return err
		}
		switch {
		case g.app.machine():
			return output.Value(g.app.sys.Stdout, g.app.output, s)
		case name == "trigger" && len(s.Recent) > 0:
			return g.app.printf("%s\n", s.Recent[len(s.Recent)-1].JobID)
		case g.app.output == "name":
			return g.app.printf("%s\n", s.ID)
		}
		return g.app.printf("%s", output.Clean(fmt.Sprintf("%s  %s%s\n", s.ID, s.Status, next(s))))
	})
	c.Flags().StringVar(&w.Reason, "reason", "", "why, for people; stored with the schedule")
	return c
}

// next formats the next due time of a schedule, if there is one.
func next(s *client.Schedule) string {
	if s.Next.IsZero() {
		return ""
	}
	return "  next " + s.Next.UTC().Format(time.RFC3339)
}

// recurring are the flags of a schedule.
type recurring struct {
	when        events.Schedule
	every       time.Duration
	overlap     string
	missed      string
	jitter      time.Duration
	until       string
	maxRuns     int
	maxFailures int
	previous    bool
}

func (r *recurring) declare(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&r.every, "every", 0, "so often: whole minutes, 15m or 24h")
	f.StringVar(&r.when.DailyTime, "daily", "", "every day at HH:MM")
	f.StringVar(&r.when.Cron, "cron", "", `five fields, "30 9 * * mon-fri", or a word like @hourly`)
	f.StringVar(&r.when.At, "at", "", "once, at a moment: 2027-01-31T09:30:00Z, or without an offset for a time in --timezone")
	f.StringVar(&r.when.FirstRun, "first-run", "", "now begins the first run at once; due (default) waits for the first time")
	f.StringVar(&r.overlap, "overlap", "", "when a run goes on already: skip (default), queue or replace")
	f.StringVar(&r.missed, "missed", "", "what to do about missed runs: one run (default), skip or all")
	f.DurationVar(&r.jitter, "jitter", 0, "spread runs over so long behind their moments")
	f.StringVar(&r.until, "until", "", "the last moment, RFC 3339")
	f.IntVar(&r.maxRuns, "max-runs", 0, "end after so many runs")
	f.IntVar(&r.maxFailures, "max-failures", 0, "pause after so many failed runs in a row")
	f.BoolVar(&r.previous, "previous", false, "tell each run, in its input previous, what the latest before it that has finished gave")
}

// spec combines the flags and a request.
func (r *recurring) spec(request events.Request) (schedule.Spec, error) {
	s := schedule.Spec{
		When: r.when, Overlap: schedule.Overlap(r.overlap), Missed: schedule.Missed(r.missed),
		Jitter: events.Duration(r.jitter), MaxRuns: r.maxRuns, MaxFailures: r.maxFailures, Previous: r.previous, Request: request,
	}
	if request.Schedule != nil && r.when == (events.Schedule{FirstRun: r.when.FirstRun}) && r.every == 0 {
		s.When = *request.Schedule
		if r.when.FirstRun != "" {
			s.When.FirstRun = r.when.FirstRun
		}
	}
	s.Request.Schedule = nil
	if r.every%time.Minute != 0 || r.every < 0 {
		return s, usageError{fmt.Errorf("--every %s: want whole minutes, 15m or 24h", r.every)}
	}
	if r.every > 0 {
		s.When.IntervalMinutes = int(r.every / time.Minute)
	}
	if s.When == (events.Schedule{Timezone: s.When.Timezone, FirstRun: s.When.FirstRun}) {
		return s, usageError{events.Faults{{
			Code: events.CodeMissing, Field: "schedule", Message: "when the job recurs is not given", Hint: "give exactly one of --every, --daily, --cron and --at, or the field schedule of a file",
		}}}
	}
	if r.until == "" {
		return s, nil
	}
	var err error
	if s.Until, err = time.Parse(time.RFC3339, r.until); err != nil {
		return s, usageError{fmt.Errorf("--until %q: want a time such as 2027-01-31T09:30:00Z", r.until)}
	}
	return s, nil
}

func (g schedules) createCommand() *cobra.Command {
	var q asked
	var r recurring
	c := &cobra.Command{
		Use: "create [GOAL…]", Short: "Create a schedule: a job that recurs",
		Long: "Create takes a job as `submit` does, by words, flags or a file, and one of --every, --daily, --cron and --at; a file\n" +
			"may say it in its field schedule. --id is the id of the schedule; each run is a job ID-<moment>, with the label schedule=ID.",
		RunE: func(_ *cobra.Command, args []string) error {
			request, err := g.app.documents.request(&q, args)
			if err == nil && len(request.Plan) > 0 {
				err = g.app.plans.sound(&request)
			}
			if err != nil {
				return err
			}
			q.choose(&request)
			spec, err := r.spec(request)
			if err != nil {
				return err
			}
			id := request.ID
			spec.Request.ID = ""
			return g.app.with(func(ctx context.Context, c *client.Client) error { return g.create(ctx, c, id, spec) })
		},
	}
	q.declare(c)
	r.declare(c)
	c.Flags().Lookup("id").Usage = "the id of the schedule; generated by default"
	return c
}

func (g schedules) create(ctx context.Context, c *client.Client, id string, spec schedule.Spec) error {
	s, err := c.Schedules().Create(ctx, id, spec)
	var faults events.Faults
	if errors.As(err, &faults) && !errors.Is(err, client.ErrConflict) {
		return usageError{faults}
	}
	if err != nil {
		return err
	}
	switch {
	case g.app.machine():
		return output.Value(g.app.sys.Stdout, g.app.output, s)
	case g.app.output == "name":
		return g.app.printf("%s\n", s.ID)
	}
	if s.Duplicate {
		g.app.note("schedule %s was there already, the same", s.ID)
	}
	return g.app.printf("%s", output.Clean(fmt.Sprintf("%s  %s%s\n", s.ID, s.Status, next(s))))
}

func (g schedules) listCommand() *cobra.Command {
	var status string
	c := g.app.connected("list", "List schedules", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		switch schedule.Status(status) {
		case "", schedule.Active, schedule.Rests, schedule.Done:
		default:
			return usageError{fmt.Errorf("--state %q: use active, paused or done", status)}
		}
		list, err := c.Schedules().List(ctx, schedule.Status(status))
		if err != nil {
			return err
		}
		return g.list(list)
	})
	c.Aliases = []string{"ls"}
	c.Flags().StringVar(&status, "state", "", "only schedules that are active, paused or done")
	return c
}

func (g schedules) list(list []*client.Schedule) error {
	if len(list) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no schedules; `jobgraph schedule create --daily 09:00 GOAL…` makes one")
		return nil
	}
	table := output.Table{
		Head:     []string{"ID", "STATE", "WHEN", "NEXT", "RUNS", "LAST RUN", "GOAL"},
		WideHead: []string{"TIMEZONE", "OVERLAP", "MISSED", "FAILURES", "REASON"},
	}
	for _, s := range list {
		last := "-"
		if n := len(s.Recent); n > 0 {
			last = string(s.Recent[n-1].Status)
		}
		if len(s.Asks) > 0 {
			last = "asks a person"
		}
		table.Rows = append(table.Rows, output.Row{
			Name: s.ID, Value: s,
			Cells: []string{s.ID, string(s.Status), when(&s.When), moment(s.Next), fmt.Sprint(s.Runs), last, dash(short(s.Request.Goal, 50))},
			Wide:  []string{dash(s.When.Timezone), string(s.Overlap), string(s.Missed), fmt.Sprint(s.Failures), dash(s.Reason)},
		})
	}
	return g.app.write(table)
}

// when describes the due times in a few words.
func when(s *events.Schedule) string {
	switch {
	case s.IntervalMinutes > 0:
		return "every " + brief(time.Duration(s.IntervalMinutes)*time.Minute)
	case s.DailyTime != "":
		return "daily " + s.DailyTime
	case s.Cron != "":
		return s.Cron
	}
	return "once"
}

// brief formats whole minutes without seconds.
func brief(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		return strings.TrimSuffix(text, "0m")
	}
	return text
}

// moment formats a time, "-" if there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func (g schedules) getCommand() *cobra.Command {
	return g.app.connected("get ID", "Show a schedule", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		s, err := c.Schedules().Get(ctx, args[0])
		if err != nil {
			return err
		}
		switch {
		case g.app.machine():
			return output.Value(g.app.sys.Stdout, g.app.output, s)
		case g.app.output == "name":
			return g.app.printf("%s\n", s.ID)
		}
		return g.show(s)
	})
}

func (g schedules) show(s *client.Schedule) error {
	upcoming := make([]string, len(s.Upcoming))
	for i, at := range s.Upcoming {
		upcoming[i] = moment(at)
	}
	text := fmt.Sprintf("%s  %s\n", s.ID, s.Status)
	for _, field := range []struct {
		name, value string
		is          bool
	}{
		{"reason", s.Reason, s.Reason != ""},
		{"blocked", s.Blocked, s.Blocked != ""},
		{"when", when(&s.When), true},
		{"at", s.When.At, s.When.At != ""},
		{"timezone", s.When.Timezone, s.When.Timezone != ""},
		{"overlap", string(s.Overlap), true},
		{"missed", string(s.Missed), true},
		{"jitter", s.Jitter.Std().String(), s.Jitter > 0},
		{"until", moment(s.Until), !s.Until.IsZero()},
		{"max runs", fmt.Sprint(s.MaxRuns), s.MaxRuns > 0},
		{"max failures", fmt.Sprint(s.MaxFailures), s.MaxFailures > 0},
		{"previous", "each run is told of the one before it", s.Previous},
		{"goal", short(s.Request.Goal, 100), s.Request.Goal != ""},
		{"expert", s.Request.Expert, s.Request.Expert != ""},
		{"made by", s.By, s.By != ""},
		{"created", moment(s.Created), true},
		{"upcoming", strings.Join(upcoming, ", "), len(upcoming) > 0},
		{"asks", strings.Join(waitsFor(s.Asks), "\n"+strings.Repeat(" ", 13)), len(s.Asks) > 0},
		{"runs", fmt.Sprintf("%d, %d moments skipped, %d failures in a row", s.Runs, s.Skipped, s.Failures), true},
	} {
		if field.is {
			text += fmt.Sprintf("%-12s %s\n", field.name, field.value)
		}
	}
	return g.app.printf("%s", output.Clean(text))
}

// waitsFor describes the questions for which runs wait, one per line.
func waitsFor(open []verb.Question) []string {
	list := make([]string, len(open))
	for i := range open {
		q := &open[i]
		list[i] = fmt.Sprintf("%s %s (%s)", q.JobID, q.Request, q.Kind)
		if !q.Expires.IsZero() {
			list[i] += " until " + moment(q.Expires)
		}
		list[i] += ": " + short(strings.Join(strings.Fields(q.Prompt), " "), 100)
	}
	return list
}

func (g schedules) runsCommand() *cobra.Command {
	var limit int
	c := g.app.connected("runs ID", "List the latest runs of a schedule, the newest last", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		s, err := c.Schedules().Get(ctx, args[0])
		if err != nil {
			return err
		}
		if limit > 0 && len(s.Recent) > limit {
			s.Recent = s.Recent[len(s.Recent)-limit:]
		}
		return g.runs(s)
	})
	c.Flags().IntVar(&limit, "limit", 0, "only this many of the latest; 0 for all that are stored")
	return c
}

func (g schedules) runs(s *client.Schedule) error {
	if len(s.Recent) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("schedule %s has not run yet%s", s.ID, next(s))
		return nil
	}
	table := output.Table{
		Head:     []string{"DUE", "JOB", "STATE", "TOOK", "COST", "RESULT"},
		WideHead: []string{"TRIGGERED", "STARTED", "ENDED", "TOKENS", "MISSED BEFORE"},
	}
	for i := range s.Recent {
		r := &s.Recent[i]
		took, cost := "-", "-"
		if r.DurationMS > 0 {
			took = (time.Duration(r.DurationMS) * time.Millisecond).String()
		}
		if r.CostUSD > 0 {
			cost = fmt.Sprintf("$%.4f", r.CostUSD)
		}
		table.Rows = append(table.Rows, output.Row{
			Name: r.JobID, Value: r,
			Cells: []string{moment(r.Due), r.JobID, string(r.Status), took, cost, dash(short(came(r, s.Asks), 60))},
			Wide:  []string{fmt.Sprint(r.Triggered), moment(r.Started), moment(r.Ended), fmt.Sprint(r.Tokens), fmt.Sprint(r.Skipped)},
		})
	}
	return g.app.write(table)
}

// came describes the result of a run on one line, or what it asks.
func came(r *schedule.Run, open []verb.Question) string {
	at := slices.IndexFunc(open, func(q verb.Question) bool { return q.JobID == r.JobID })
	switch {
	case at >= 0:
		return "asks: " + strings.Join(strings.Fields(open[at].Prompt), " ")
	case r.Reason != "":
		return r.Reason
	case r.Error != nil:
		return r.Error.Error()
	case string(r.Result) == "null":
		return "finished without output"
	case len(r.Result) > 0:
		return cmp.Or(strings.Join(strings.Fields(readable(r.Result)), " "), "finished without output")
	case r.Status == schedule.RunStatus(events.Finished):
		return "finished without a small result: jobgraph get " + r.JobID
	}
	return ""
}
