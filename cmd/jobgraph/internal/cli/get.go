package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// views are the commands that show jobs: get, describe, list, watch, events, graph, why.
type views struct{ app *app }

func (g views) getCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show the state of a job; -o plan shows its steps with their marks", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := jobOf("get", args[0], "jobgraph get JOB", "jobgraph describe JOB/SUBJOB shows that one"); err != nil {
				return err
			}
			if g.app.output == "plan" {
				return g.app.plans.show(args[0])
			}
			return g.see(args[0], g.writeState)
		},
	}
}

// see folds the job that an argument names and passes it to show.
func (g views) see(arg string, show func(h *joblog.Log, c *client.Client) error) error {
	t, err := parseTarget(arg)
	if err != nil {
		return err
	}
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		h, err := g.app.look(ctx, c, t)
		if err != nil {
			return err
		}
		return show(h, c)
	})
}

// stateTable returns the table for a list of jobs, without rows.
func stateTable() output.Table {
	return output.Table{
		Head:     []string{"ID", "STATUS", "PROGRESS", "AGE", "TOOK", "GOAL"},
		WideHead: []string{"PROFILE", "SESSION", "LABELS", "SEQ", "REASON"},
		Width:    80, // Even in a file, so that lists look the same everywhere.
	}
}

// besideID is how many columns a terminal must have left beside the id of a job, for status and goal; otherwise the id is
// shortened.
const besideID = 24

func (g views) writeState(h *joblog.Log, c *client.Client) error {
	s := h.Job.View()
	table := stateTable()
	var steps []string
	for _, n := range s.SubJobs {
		steps = append(steps, n.ID)
	}
	table.Rows = []output.Row{g.row(rowOf{
		s.ID, s.Status, s.Progress.Done, s.Progress.Total, s.Created, s.Ended, s.Title, s.Goal, s.Profile, s.Session, steps, s.Labels, s.Seq, s.Error,
		h.Aside != nil,
	}, s)}
	if g.app.machine() {
		return g.writeValue(g.standing(h, c), h)
	}
	if width, _, terminal := g.app.size(); terminal && width < len(s.ID)+besideID {
		table.Rows[0].Cells[0] = uniqueBeginning(s.ID, nil)
	}
	if err := g.app.write(table); err != nil || g.app.output == "name" {
		return err
	}
	if f := aside(h); f != nil {
		return g.app.printf("\n%s\n", output.Clean(reason(f)))
	}
	if s.Error != nil {
		if err := g.app.printf("\n%s\n", output.Clean(reason(s.Error))); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, line := range output.Notices(s.Notices) {
		b.WriteString("\n" + line)
	}
	if len(s.Notices) > 0 {
		b.WriteString("\n")
	}
	if s.Outcome != "" {
		b.WriteString("\noutcome  " + s.Outcome + ": the job could not be planned\n")
	}
	if cost := spent(s.Cost); cost != "" {
		b.WriteString("\ncost  " + cost + "\n")
	}
	if result := g.result(h, c); len(result) > 0 {
		b.WriteString("\n" + beginning(told(s, result), s.ID) + "\n")
	}
	g.app.files.write(&b, h, nil)
	return g.app.printf("%s", b.String())
}

// mostResult limits a result that is shown among other things, in characters.
const mostResult = 2000

// beginning returns the part of a result that is shown here.
func beginning(result, job string) string {
	if runes := []rune(result); len(runes) > mostResult {
		return fmt.Sprintf("%s…\n(%d more characters: jobgraph describe %s)", string(runes[:mostResult]), len(runes)-mostResult, job)
	}
	return result
}

// standing is the output about a job for programs, the same in every command: its state, result, duration and cost, and the
// faults of its plan if they ended it. Fields are only ever added.
type standing struct {
	*graph.State
	// JobID repeats the id under the name that requests and events use.
	JobID string `json:"job_id"`
	// SubJobs are the SubJobs of the state, with their hashes as strings.
	SubJobs []exact `json:"subjobs"`
	// Result is also set if the state only refers to it.
	Result json.RawMessage `json:"result,omitempty"`
	// Partial is true if Result consists of the results of some SubJobs of an unfinished job.
	Partial bool          `json:"partial,omitempty"`
	Faults  events.Faults `json:"faults,omitempty"`
	// Artifacts are the files of SubJobs' results.
	Artifacts []joblog.Artifact `json:"artifacts,omitempty"`
	// DurationMS is the time from its admission to its end, in milliseconds; 0 if it has not ended.
	DurationMS int64 `json:"duration_ms"`
	joblog.Cost
}

// exact is a SubJob whose hash is a string: many programs round numbers beyond 2^53.
type exact struct {
	*graph.SubJobState
	Hash string `json:"hash,omitempty"`
}

func exactly(n *graph.SubJobState) exact {
	x := exact{SubJobState: n}
	if n.Hash != 0 {
		x.Hash = strconv.FormatUint(n.Hash, 10)
	}
	return x
}

// standing builds the output about a job for programs.
func (g views) standing(h *joblog.Log, c *client.Client) standing {
	s := h.Job.View()
	j := standing{State: s, JobID: s.ID, Result: g.result(h, c), Partial: joblog.Partial(s), Faults: h.Rejected(), Artifacts: h.Artifacts(""), DurationMS: joblog.Duration(s.Created, s.Ended), Cost: joblog.Cost(s.Cost)}
	for _, n := range s.SubJobs {
		j.SubJobs = append(j.SubJobs, exactly(n))
	}
	return j
}

// spent describes the cost of a job for people; "" if there is none.
func spent(s events.Spent) string {
	var parts []string
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", s.Tokens))
	}
	if s.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%.4f USD", s.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// aside returns why a job is in quarantine, or nil.
func aside(h *joblog.Log) *events.Fault {
	if faults := faultsOf(h.Aside); len(faults) > 0 {
		return &faults[0]
	}
	return nil
}

// writeValue prints a value about a job for programs; a quarantine is an additional field.
func (g views) writeValue(value any, h *joblog.Log) error {
	f := aside(h)
	if f == nil {
		return output.Value(g.app.sys.Stdout, g.app.output, value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	mark, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return output.Value(g.app.sys.Stdout, g.app.output, json.RawMessage(`{"quarantined":`+string(mark)+","+string(text[1:])))
}

// rowOf holds the data of a table row, from a fold or a saved state.
type rowOf struct {
	id                           string
	status                       events.Status
	done, total                  int
	created, ended               time.Time
	title, goal, profile, sesson string
	steps                        []string
	labels                       map[string]string
	seq                          uint64
	fault                        *events.Fault
	aside                        bool
}

func (g views) row(r rowOf, value any) output.Row {
	end := r.ended
	if end.IsZero() {
		end = g.app.now()
	}
	// A plan may have neither a title nor a goal; then its steps identify it.
	own := slices.DeleteFunc(r.steps, func(id string) bool { return !events.ValidID(id) })
	heading := cmp.Or(r.title, r.goal, strings.Join(own, ", "))
	why := ""
	if r.fault != nil {
		why = r.fault.Error()
	}
	status := string(r.status)
	if r.aside {
		status = strings.TrimSpace(status + " (quarantined)")
	}
	return output.Row{
		Name: r.id, Value: value,
		Cells: []string{
			r.id, status, fmt.Sprintf("%d/%d", r.done, r.total), output.Between(r.created, g.app.now()),
			output.Between(r.created, end), dash(short(heading, 60)),
		},
		Wide: []string{dash(r.profile), dash(r.sesson), dash(labels(r.labels)), fmt.Sprint(r.seq), dash(short(why, 80))},
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func reason(f *events.Fault) string {
	text := f.Error()
	if f.Hint != "" {
		text += "\n  → " + f.Hint
	}
	return text
}

func (g views) describeCommand() *cobra.Command {
	told, prompts := false, false
	c := &cobra.Command{
		Use: "describe ID[/SUBJOB]", Short: "Show everything about a job or a SubJob", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.see(args[0], func(h *joblog.Log, c *client.Client) error {
				t, _ := parseTarget(args[0]) // Checked by see.
				switch {
				case told:
					return g.writeBrief(h, t.subjob)
				case prompts:
					return g.writePrompts(h, c, t.subjob)
				}
				if t.subjob != "" {
					return g.describeSubJob(h, c, t.subjob)
				}
				return g.describeJob(h, c)
			})
		},
	}
	c.Flags().BoolVar(&told, "brief", false, "Show what the last run of a SubJob knew about its job, besides its own text.")
	c.Flags().BoolVar(&prompts, "prompts", false, "Show what planning asked models, and what they answered, word for word.")
	c.MarkFlagsMutuallyExclusive("brief", "prompts")
	return c
}

// description is a job with its request and its result.
type description struct {
	Request *events.JobRequested `json:"request"`
	State   standing             `json:"state"`
	Result  json.RawMessage      `json:"result,omitempty"`
	// Partial is true if Result consists of the results of some SubJobs of an unfinished job.
	Partial bool `json:"partial,omitempty"`
	// Artifacts are the files of SubJobs' results.
	Artifacts []joblog.Artifact `json:"artifacts,omitempty"`
	// Planning summarises the planners' calls, if there were any.
	Planning *planning       `json:"planning,omitempty"`
	Why      []graph.Blocker `json:"why,omitempty"`
}

func (g views) describeJob(h *joblog.Log, c *client.Client) error {
	s := h.Job.View()
	d := description{Request: h.Request(), State: g.standing(h, c), Result: g.result(h, c), Partial: joblog.Partial(s), Artifacts: h.Artifacts(""), Planning: g.planned(h, c)}
	if !s.Status.Terminal() {
		d.Why = h.Job.Why("")
	}
	if g.app.machine() {
		return g.writeValue(d, h)
	}
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			value = strings.ReplaceAll(output.Clean(value), "\n", "\n"+strings.Repeat(" ", 11))
			fmt.Fprintf(&b, "%-10s %s\n", name, value)
		}
	}
	field("id", s.ID)
	field("status", string(s.Status))
	if s.Outcome != "" {
		field("outcome", s.Outcome+": the job could not be planned")
	}
	if f := aside(h); f != nil {
		field("quarantine", reason(f))
	}
	field("goal", s.Goal)
	field("session", s.Session)
	field("labels", labels(s.Labels))
	if d.Request != nil {
		field("tools", d.Request.Request.Tools.String())
	}
	field("created", moment(s.Created))
	if !s.Ended.IsZero() {
		field("ended", moment(s.Ended)+" after "+output.Between(s.Created, s.Ended))
	}
	if s.Error != nil {
		field("error", reason(s.Error))
	}
	field("notices", strings.Join(output.Notices(s.Notices), "\n"))
	if d.Planning != nil {
		d.Planning.write(&b)
	}
	b.WriteString("\n")
	width, _, _ := g.app.size()
	for _, line := range (output.Tree{Now: g.app.now(), Paint: g.app.paint(), Width: width, Legacy: true}).Lines(s) {
		b.WriteString(line + "\n")
	}
	writeAsked(&b, h)
	g.app.files.write(&b, h, c)
	for _, why := range d.Why {
		b.WriteString("\n" + output.Clean(blocked(why)))
	}
	if len(d.Result) > 0 {
		text := strings.TrimRight(b.String(), "\n")
		b.Reset()
		b.WriteString(text + "\n\n" + told(s, d.Result) + "\n")
	}
	return g.app.printf("%s\n", strings.TrimRight(b.String(), "\n"))
}

// subjobDescription is a SubJob with its text and result.
type subjobDescription struct {
	State  exact           `json:"state"`
	Spec   events.SubJob   `json:"spec"`
	Output json.RawMessage `json:"output,omitempty"`
	Ref    *events.Ref     `json:"output_ref,omitempty"`
	// Artifacts are the files of its result.
	Artifacts []joblog.Artifact `json:"artifacts,omitempty"`
	// Limits are the limits of its runs, each with who set it.
	Limits  []joblog.Limit  `json:"limits,omitempty"`
	Why     []graph.Blocker `json:"why,omitempty"`
	Lessons []string        `json:"lessons,omitempty"`
	// Calls are its runs' calls of models, tools and services, from its journal.
	Calls []joblog.Call `json:"calls,omitempty"`
}

func (g views) describeSubJob(h *joblog.Log, c *client.Client, id string) error {
	x := h.SubJob(id)
	d := subjobDescription{
		State: exactly(x.State), Spec: x.Spec, Output: x.Output, Ref: x.Ref, Artifacts: h.Artifacts(id), Lessons: x.Lessons, Limits: h.Limits(id), Why: h.Job.Why(id),
	}
	if d.Ref != nil && d.Output == nil {
		if data, err := c.Blob(g.app.soft, h.Job.ID, *d.Ref); err == nil && json.Valid(data) {
			d.Output = data
		}
	}
	if !plannedBy(x.State) {
		calls, err := c.Journals().CallsOf(g.app.soft, h, id)
		if err != nil {
			g.app.note("what it has called cannot be read: %v", err)
		}
		d.Calls = calls
	}
	form := g.app.output
	if !g.app.machine() {
		form = "yaml" // For people: all fields with their names.
	}
	return output.Value(g.app.sys.Stdout, form, d)
}

// result returns the job's final answer, even if it is stored as a blob; nil if there is none or it was deleted.
func (g views) result(h *joblog.Log, c *client.Client) json.RawMessage {
	s := h.Job.View()
	result, _ := joblog.Answer(s.Result, s.ResultRef, g.payloads(c, s.ID)) // What cannot be read is reported in a note.
	return result
}

// payloads returns a reader of the job's payloads that skips unreadable ones with a note.
func (g views) payloads(c *client.Client, job string) joblog.Payloads {
	return func(ref events.Ref) ([]byte, error) {
		if c == nil {
			return nil, nil
		}
		data, err := c.Blob(g.app.soft, job, ref)
		if err != nil {
			g.app.note("the result cannot be read: %v", err)
		}
		return data, nil
	}
}

// told returns the result of a job for people, or what it has instead of one.
func told(s *graph.State, result json.RawMessage) string {
	text := output.Clean(readable(result))
	if joblog.Partial(s) {
		return fmt.Sprintf("job %s %s: no result, this is what had come out by then\n%s", s.ID, s.Status, text)
	}
	return text
}

// readable formats a JSON value for people: a string as it is, anything else indented.
func readable(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b strings.Builder
	if output.Value(&b, "json", raw) != nil {
		return string(raw)
	}
	return strings.TrimRight(b.String(), "\n")
}
