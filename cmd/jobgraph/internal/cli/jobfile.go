package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// maxFile limits a file that is read completely, in bytes.
const maxFile = 256 << 20

// asked are the flags that describe a request.
type asked struct {
	file, plan, expert, profile, id, session, thread, user, model string
	timezone, unanswered                                          string
	inputs, labels, attached, knowledge, servers                  []string
	cached, fresh, debug, offline                                 bool
	unattended                                                    *bool
	searches                                                      int
}

func (q *asked) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&q.file, "file", "f", "", "job file, JSON or YAML; - reads standard input")
	f.StringVar(&q.plan, "plan", "", "plan file in any dialect, or draft:NAME for one that is kept")
	f.BoolVar(&q.cached, "plan-cache", false, "take the plan that was made for the same request and experts before, if there is one")
	f.StringVar(&q.expert, "expert", "", "skip planning: the whole goal for this expert")
	f.StringVar(&q.profile, "profile", "", "the planner's profile")
	f.StringVar(&q.model, "model", "", "the model that plans; an embedded run also knows fake, a scripted one that costs nothing, and fake:FILE, one that plays this script")
	f.StringArrayVar(&q.inputs, "input", nil, "named value, KEY=VALUE, JSON or text; repeatable")
	f.StringArrayVar(&q.attached, "attach", nil, "file that every SubJob gets, up to 1 GiB, or a folder of at most 200; repeatable")
	f.StringArrayVarP(&q.labels, "label", "l", nil, "label, KEY=VALUE; repeatable")
	f.Var(newID{&q.id}, "id", "the job's id; made up when not given")
	f.StringVar(&q.session, "session", "", "the conversation that the job belongs to")
	f.BoolVar(&q.fresh, "new", false, "make a job of its own, also if the text answers a question that is open in the session")
	f.StringVar(&q.thread, "thread", "", "the line of talk inside that conversation")
	f.StringVar(&q.user, "user", "", "on whose behalf the job runs")
	f.StringSliceVar(&q.knowledge, "knowledge", nil, "base of knowledge that experts may read besides those of their cards; repeatable")
	f.StringVar(&q.timezone, "timezone", "", "the person's time zone, Europe/Berlin; that of the session, the user or this machine when not given")
	f.BoolFunc("unattended", "planning asks no person; --unanswered says what it does instead. Runs of a schedule ask none unless it is false", func(text string) error {
		is, err := strconv.ParseBool(text)
		q.unattended = &is
		return err
	})
	f.StringVar(&q.unanswered, "unanswered", "", "when something is missing and no answer comes: assume (plan with stated assumptions) or fail")
	f.BoolVar(&q.offline, "no-web", false, "agents get no tool that reaches the web")
	f.IntVar(&q.searches, "searches", 0, "the most searches of the web in one run of an agent; 0 for no limit")
	f.StringSliceVar(&q.servers, "mcp", nil, "MCP server that the operator lends to requests (lend: true in jobgraph.yaml), whose tools agents get besides those of their cards; repeatable")
	f.BoolVar(&q.debug, "debug", false, "keep the prompts of planning with the job, for jobgraph describe JOB --prompts")
}

// newID is a flag value for a new id. An empty one, for example from an unset variable, is a mistake; without the flag an
// id is generated.
type newID struct{ to *string }

// Set implements pflag.Value.
func (n newID) Set(text string) error {
	if text == "" {
		return errors.New("it is empty: name an id, or leave --id out")
	}
	*n.to = text
	return nil
}

// String implements pflag.Value.
func (n newID) String() string { return "" }

// Type implements pflag.Value.
func (newID) Type() string { return "string" }

// documents reads the user's files: jobs, plans, requests.
type documents struct{ app *app }

// request builds the request from file, flags and arguments. It reports all faults together.
func (g documents) request(q *asked, words []string) (events.Request, error) {
	var r events.Request
	var faults events.Faults
	if q.file != "" {
		body, err := g.document(q.file)
		if err != nil {
			return r, err
		}
		r, faults = events.DecodeRequest(body)
		absolute(r.Inputs, filepath.Dir(q.file))
	}
	if len(words) > 0 {
		r.Goal = strings.Join(words, " ")
	}
	for _, given := range []struct {
		value string
		to    *string
	}{{q.expert, &r.Expert}, {q.profile, &r.Profile}, {q.id, &r.ID}, {q.session, &r.Session}, {q.thread, &r.Thread}, {q.user, &r.User}, {q.timezone, &r.Timezone}, {q.unanswered, (*string)(&r.Unanswered)}} {
		if given.value != "" {
			*given.to = given.value
		}
	}
	r.New = r.New || q.fresh
	if q.plan != "" {
		plan, err := g.plan(q.plan)
		if err != nil {
			return r, err
		}
		r.Plan = plan
	}
	if len(q.knowledge) > 0 {
		r.Knowledge = q.knowledge
	}
	q.changeTools(&r.Tools)
	if q.cached {
		r.PlanCache = &q.cached
	}
	r.Unattended = cmp.Or(q.unattended, r.Unattended)
	r.Debug = r.Debug || q.debug
	if err := q.addInputs(&r); err != nil {
		return r, err
	}
	more, err := pairs("--label", q.labels)
	if err != nil {
		return r, err
	}
	if len(more) > 0 && r.Labels == nil {
		r.Labels = map[string]string{}
	}
	for k, v := range more {
		r.Labels[k] = v
	}
	if q.file == "" {
		faults = inWords(r.Validate())
	} else {
		faults = still(faults, &r)
	}
	_, unfit := unfolded(q.attached)
	return r, append(faults, unfit...).OrNil()
}

// changeTools puts what the flags change about the tools of agents into a request.
func (q *asked) changeTools(c *toolset.Change) {
	if q.offline {
		c.Web = new(false)
	}
	if q.searches > 0 {
		c.Searches = &q.searches
	}
	for _, name := range q.servers {
		if c.Servers == nil {
			c.Servers = map[string]toolset.Server{}
		}
		c.Servers[name] = toolset.Server{}
	}
}

// inWords makes the fault of a missing goal say how to give one here.
func inWords(faults events.Faults) events.Faults {
	for i := range faults {
		if faults[i].Code == events.CodeMissing && faults[i].Field == "goal" {
			faults[i].Hint = "say what is wanted in words, or name a job file with -f or a plan with --plan"
		}
	}
	return faults
}

// choose sets the model in a request for services that run elsewhere.
func (q *asked) choose(r *events.Request) {
	if q.model == "" {
		return
	}
	if r.Models == nil {
		r.Models = map[string]string{}
	}
	r.Models["planner"] = q.model
}

// still drops the fault of a missing goal if flags supplied one.
func still(faults events.Faults, r *events.Request) events.Faults {
	var left events.Faults
	for _, f := range faults {
		if f.Code == events.CodeMissing && f.Field == "goal" && (r.Goal != "" || len(r.Plan) > 0) {
			continue
		}
		left = append(left, f)
	}
	return left
}

func (q *asked) addInputs(r *events.Request) error {
	given, err := pairs("--input", q.inputs)
	if err != nil {
		return err
	}
	if len(given) > 0 && r.Inputs == nil {
		r.Inputs = map[string]json.RawMessage{}
	}
	mine := map[string]json.RawMessage{}
	for k, v := range given {
		mine[k] = json.RawMessage(v)
		if !json.Valid([]byte(v)) {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("--input %s: %w", k, err)
			}
			mine[k] = text
		}
	}
	absolute(mine, ".")
	for k, v := range mine {
		r.Inputs[k] = v
	}
	return nil
}

// absolute resolves relative paths in the inputs against a folder, since the experts run elsewhere. A text is a path if its
// name is path or out, or if it begins with ./ or ../.
func absolute(inputs map[string]json.RawMessage, dir string) {
	for name, raw := range inputs {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" || filepath.IsAbs(text) || strings.Contains(text, "://") {
			continue
		}
		if name != "path" && name != "out" && text != "." && text != ".." && !strings.HasPrefix(text, "./") && !strings.HasPrefix(text, "../") {
			continue
		}
		full, err := filepath.Abs(filepath.Join(dir, text))
		if err != nil {
			continue
		}
		if text, err := json.Marshal(full); err == nil {
			inputs[name] = text
		}
	}
}

// file reads a file, or standard input for "-".
func (g documents) file(path string) ([]byte, error) {
	r := g.app.sys.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usageError{unreadable(path, err)}
		}
		defer func() { _ = f.Close() }() // It was only read.
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, usageError{unreadable(path, err)}
	}
	if len(data) > maxFile {
		return nil, usageError{unreadable(path, fmt.Errorf("larger than %d MiB", maxFile>>20))}
	}
	return data, nil
}

func unreadable(path string, err error) error {
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &events.Fault{Code: events.CodeInvalid, Field: path, Message: "cannot be read", Cause: err.Error(), Hint: "check the path and its permissions"}
}

// document reads JSON or YAML and returns JSON.
func (g documents) document(path string) ([]byte, error) {
	data, err := g.file(path)
	if err != nil || json.Valid(data) {
		return data, err
	}
	if isJSON(data) && filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
		return nil, usageError{badJSON(path, data)}
	}
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return nil, usageError{&events.Fault{Code: events.CodeMalformed, Field: path, Message: "neither JSON nor YAML", Cause: err.Error()}}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, usageError{&events.Fault{Code: events.CodeMalformed, Field: path, Message: "a key is no text", Cause: err.Error()}}
	}
	return body, nil
}

func isJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{'
}

// badJSON returns an error with the position of a JSON syntax error.
func badJSON(path string, data []byte) error {
	var value any
	err := json.Unmarshal(data, &value)
	place := path
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := data[:min(int(syntax.Offset), len(data))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n') - 1
		place = fmt.Sprintf("%s:%d:%d", path, line, max(column, 1))
	}
	return &events.Fault{Code: events.CodeMalformed, Field: place, Message: "no valid JSON", Cause: err.Error()}
}

// plan reads a plan in any dialect: JSON as it is, YAML as JSON, any other text as a JSON string; or a stored plan
// document.
func (g documents) plan(path string) (json.RawMessage, error) {
	if name, kept := strings.CutPrefix(path, draftPrefix); kept {
		return g.keptPlan(name)
	}
	data, err := g.file(path)
	if err != nil {
		return nil, err
	}
	if json.Valid(data) {
		return data, nil
	}
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return g.document(path)
	}
	text, err := json.Marshal(string(data))
	if err != nil {
		return nil, usageError{unreadable(path, err)}
	}
	return text, nil
}

// besideExperts returns the folder of cards beside a job file, "" if there is none.
func besideExperts(file string) string {
	if file == "" || file == "-" {
		return ""
	}
	dir := filepath.Join(filepath.Dir(file), "experts")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// keptPlan returns a stored plan document in the form of a job request.
func (g documents) keptPlan(name string) (json.RawMessage, error) {
	var plan json.RawMessage
	err := g.app.with(func(ctx context.Context, c *client.Client) error {
		answer, err := c.Plan(ctx, client.PlanOperation{Command: "get", PlanID: name})
		if err == nil && answer.JobID != "" {
			err = &events.Fault{
				Code: events.CodeNotFound, Field: "plan", Message: fmt.Sprintf("there is no plan %.80q, but a job of that id", name), Hint: "jobgraph fork " + name + " runs its graph again",
			}
		}
		plan = answer.Request
		return err
	})
	return plan, err
}
