package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g views) listCommand() *cobra.Command {
	var labelArgs, states []string
	var q client.Query
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List jobs, newest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := query(&q, labelArgs, states); err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error { return g.list(ctx, c, q) })
		},
	}
	c.Flags().StringArrayVarP(&labelArgs, "label", "l", nil, "only jobs with this label, KEY=VALUE; repeatable")
	c.Flags().StringSliceVar(&states, "state", nil, "only jobs in these states: RUNNING,FAILED,…")
	c.Flags().StringVar(&q.Session, "session", "", "only jobs of this session")
	c.Flags().StringVar(&q.User, "user", "", "only jobs of this person")
	c.Flags().IntVar(&q.Limit, "limit", 0, "maximum number; 0 for all")
	c.Flags().IntVar(&q.Offset, "offset", 0, "skip this many of the newest")
	return c
}

// query adds labels and states to a query from flags.
func query(q *client.Query, labelArgs, states []string) (err error) {
	if q.Limit < 0 || q.Offset < 0 {
		return usageError{fmt.Errorf("--limit %d, --offset %d: must not be negative", q.Limit, q.Offset)}
	}
	if q.Labels, err = pairs("--label", labelArgs); err != nil {
		return err
	}
	known := []events.Status{
		events.Created, events.Planning, events.Running, events.Waiting, events.Finalizing, events.Finished, events.Failed, events.Stopped,
	}
	for _, s := range states {
		status := events.Status(strings.ToUpper(s))
		if !slices.Contains(known, status) {
			return usageError{fmt.Errorf("--state %q: use one of %v", s, known)}
		}
		q.States = append(q.States, status)
	}
	return nil
}

// pairs parses KEY=VALUE arguments.
func pairs(flag string, args []string) (map[string]string, error) {
	m := map[string]string{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("%s %q: write KEY=VALUE", flag, arg)}
		}
		m[key] = value
	}
	return m, nil
}

// labels formats labels in sorted order.
func labels(m map[string]string) string {
	list := make([]string, 0, len(m))
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (g views) list(ctx context.Context, c *client.Client, q client.Query) error {
	jobs, err := c.List(ctx, q)
	if err != nil {
		return err
	}
	table := stateTable()
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	for _, j := range jobs {
		var steps []string
		for _, n := range j.SubJobs {
			steps = append(steps, n.ID)
		}
		table.Rows = append(table.Rows, g.row(rowOf{
			j.ID, j.Status, j.Progress.Done, j.Progress.Total, j.Created, j.Ended, j.Title, j.Goal, j.Profile, j.Session, steps, j.Labels, j.Seq, j.Error, j.Quarantined != nil,
		}, listed(j)))
	}
	if g.app.screen() { // A person can type what is shown; programs get the full id.
		for i := range table.Rows {
			table.Rows[i].Cells[0] = uniqueBeginning(ids[i], ids)
		}
	}
	if len(jobs) == 0 && !g.app.machine() && g.app.output != "name" {
		note := "no jobs; `jobgraph submit` makes one"
		if len(q.Labels)+len(q.States) > 0 || q.Session != "" || q.User != "" || q.Offset > 0 {
			note = "no job matches; `jobgraph list` shows all"
		}
		g.app.note("%s", note)
		return nil
	}
	return g.app.write(table)
}

// shortestID is the shortest id prefix in a list: in a generated id, its time.
const shortestID = 13

// uniqueBeginning returns the shortest prefix that distinguishes an id from the others; ids chosen by people stay whole.
func uniqueBeginning(id string, all []string) string {
	if _, err := uuid.Parse(id); err != nil {
		return id
	}
	n := shortestID
	for _, other := range all {
		for other != id && n < len(id) && strings.HasPrefix(other, id[:n]) {
			n++
		}
	}
	return id[:n]
}

// longHash matches a SubJob's hash that many programs would round.
var longHash = regexp.MustCompile(`"hash":([0-9]{16,20})\b`)

// listed returns a saved state in the form for programs; blobs are not read.
func listed(j *client.Job) json.RawMessage {
	more, err := json.Marshal(struct {
		JobID      string `json:"job_id"`
		DurationMS int64  `json:"duration_ms"`
		joblog.Cost
	}{j.ID, joblog.Duration(j.Created, j.Ended), joblog.Cost(j.Cost)})
	text := bytes.TrimRight(j.Raw, " \t\r\n")
	if err != nil || len(text) < 3 || text[len(text)-1] != '}' {
		return j.Raw
	}
	text = longHash.ReplaceAll(text, []byte(`"hash":"$1"`))
	return slices.Concat(text[:len(text)-1], []byte(","), more[1:])
}
