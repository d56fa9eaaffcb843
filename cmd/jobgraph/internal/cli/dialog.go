package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/consent"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// dialog puts the questions of a job to the person at the terminal. It belongs to one goroutine.
type dialog struct {
	app     *app
	user    string
	keys    keyboard
	lines   <-chan typed
	want    chan<- struct{}
	reading bool // Whether a line is wanted that has not come: a read of a terminal cannot be cancelled.
}

// typed is a line; ended means that the person has ended the input instead, which at a terminal holds for one prompt alone.
type typed struct {
	text  string
	ended bool
}

// errLeft means that the person has ended the input without an answer.
var errLeft = errors.New("the input has ended")

// openDialog returns a dialog with the person at the terminal; nil if there is none, or the output is for a program.
func (a *app) openDialog(user string) *dialog {
	if !a.sys.Typing || a.noInput || a.quiet || a.machine() || a.output == "name" {
		return nil
	}
	lines, want, keys := make(chan typed), make(chan struct{}), a.openKeyboard()
	go func() { // Ends with the process.
		for range want {
			line, more := keys.read()
			lines <- typed{line, !more}
		}
	}()
	if user == "" {
		user, _ = a.sys.Env("USER")
	}
	return &dialog{app: a, user: user, keys: keys, lines: lines, want: want}
}

// open returns the first open request of a job that this person may answer; nil if there is none.
func (d *dialog) open(h *joblog.Log) *verb.Question {
	for _, q := range questions(h) {
		if q.User == "" || q.User == d.user {
			return &q
		}
	}
	return nil
}

// line shows a prompt and reads one line. Errors: errLeft, or the cause of ctx.
func (d *dialog) line(ctx context.Context, prompt string) (string, error) {
	label := prompt[strings.LastIndexByte(prompt, '\n')+1:]
	if err := d.app.printf("%s", strings.TrimSuffix(prompt, label)); err != nil {
		return "", err
	}
	line, err := d.behind(ctx, label)
	if err != nil {
		return "", errors.Join(err, d.app.printf("\n")) // The following output begins on a new line.
	}
	return line, nil
}

// behind reads one line behind a label.
func (d *dialog) behind(ctx context.Context, label string) (string, error) {
	end, err := d.keys.begin(label)
	defer end()
	if err != nil {
		return "", err
	}
	if !d.reading {
		d.want <- struct{}{} // The reader is waiting for this.
		d.reading = true
	}
	select {
	case line := <-d.lines:
		d.reading = false
		if line.ended {
			return "", errLeft
		}
		return line.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// errElsewhere means that a request was closed while the person was thinking.
var errElsewhere = errors.New("the request was closed elsewhere")

// ask shows a request and sends the person's answer. after is the sequence up to which the log was seen. Errors: errLeft, and those
// of the bus.
func (d *dialog) ask(ctx context.Context, c *client.Client, q *verb.Question, after uint64) error {
	asking, closed := context.WithCancelCause(ctx)
	defer closed(nil)
	go func() { // Ends when ask returns.
		for e, err := range c.Watch(asking, q.JobID, after+1) {
			if err != nil {
				return
			}
			_, over := e.Data.(*events.JobEnded)
			if over || e.Kind == events.KindInputClosed && e.Key == q.Request {
				closed(errElsewhere)
				return
			}
		}
	}()
	value, err := d.answer(asking, q)
	if err == nil {
		err = c.Answer(ctx, q.JobID, q.Request, value, d.user)
	}
	if errors.Is(err, errElsewhere) || errors.Is(err, bus.ErrConflict) {
		d.app.note("%s was closed elsewhere", q.Request)
		return nil
	}
	return err
}

// answer asks until the answer fits.
func (d *dialog) answer(ctx context.Context, q *verb.Question) (any, error) {
	d.discard()
	width, _, _ := d.app.size()
	if err := d.app.printf("\n%s\n%s", asksIn(q, width), d.details(q)); err != nil {
		return nil, err
	}
	for {
		value, err := d.once(ctx, q)
		var wrong usageError
		if !errors.As(err, &wrong) {
			return value, err
		}
		d.app.complain(wrong.Error())
	}
}

// discard forgets what was typed before a question was shown: it was meant for something else, and might be taken for an approval.
func (d *dialog) discard() {
	dropped := d.keys.discard()
	if d.reading {
		select {
		case line := <-d.lines:
			d.reading, dropped = false, dropped || line.text != ""
		default:
		}
	}
	if dropped {
		d.app.note("what you typed before this question is no answer to it, and was left out")
	}
}

// once asks for an answer a single time. A usageError means that the answer does not fit.
func (d *dialog) once(ctx context.Context, q *verb.Question) (any, error) {
	if q.Kind == events.InputForm {
		return d.form(ctx, q)
	}
	label := "answer> "
	if q.Kind == events.InputApproval && q.SubJob != events.PlanID {
		label = "yes, or why not> "
	}
	text, err := d.line(ctx, label)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 1 && n <= len(q.Options) {
		text = q.Options[n-1]
	}
	if strings.TrimSpace(text) == "" {
		return nil, usageError{errors.New("the answer is empty; Ctrl-D leaves the job waiting")}
	}
	return parseAnswer(*q, text)
}

// details shows the choices of a request and, for an edit of a file, the changes.
func (d *dialog) details(q *verb.Question) string {
	var b strings.Builder
	if q.Kind == events.InputApproval && q.SubJob != events.PlanID {
		b.WriteString(changes(q.Prompt, d.app.paint()))
		return b.String()
	}
	for i, option := range q.Options {
		fmt.Fprintf(&b, "  %d) %s\n", i+1, output.Visible(option))
	}
	return b.String()
}

// changes shows the arguments of a call that edits a file as removed and added lines; "" for any other call.
func changes(prompt string, paint output.Paint) string {
	_, rest, found := strings.Cut(prompt, " call ")
	_, rest, called := strings.Cut(rest, " with ")
	if !found || !called {
		return ""
	}
	var a struct {
		Path, Old, New, Content string
	}
	if json.NewDecoder(strings.NewReader(rest)).Decode(&a) != nil || a.Path == "" || a.Old+a.New+a.Content == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", output.Visible(a.Path))
	write := func(mark, text string, shade func(string) string) {
		if text == "" {
			return
		}
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			fmt.Fprintf(&b, "  %s\n", shade(mark+" "+output.Visible(line)))
		}
	}
	write("-", a.Old, paint.Removed)
	write("+", a.New+a.Content, paint.Added)
	return b.String()
}

// field is a property of a form, asked for by itself.
type field struct {
	name        string
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Type        any             `json:"type"`
	Enum        []any           `json:"enum"`
	Default     json.RawMessage `json:"default"`
	needed      bool
}

// form asks for each property of a form, or takes the whole form as JSON.
func (d *dialog) form(ctx context.Context, q *verb.Question) (any, error) {
	fields := fieldsOf(q.Schema)
	if len(fields) == 0 {
		text, err := d.line(ctx, "JSON> ")
		if err != nil {
			return nil, err
		}
		return parseAnswer(*q, text)
	}
	filled := map[string]json.RawMessage{}
	for i := range fields {
		f := &fields[i]
		text, err := d.line(ctx, f.prompt())
		if err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(text); i == 0 && strings.HasPrefix(text, "{") {
			return parseAnswer(*q, text)
		}
		if value := f.value(text); value != nil {
			filled[f.name] = value
		}
	}
	whole, err := json.Marshal(filled)
	if err != nil {
		return nil, usageError{err}
	}
	return parseAnswer(*q, string(whole))
}

// fieldsOf lists the properties of a schema, required ones first, each group by name.
func fieldsOf(schema json.RawMessage) []field {
	var s struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var list []field
	for name, f := range s.Properties { // any order: sorted below.
		f.name, f.needed = name, slices.Contains(s.Required, name)
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b field) int {
		if a.needed != b.needed {
			return map[bool]int{true: -1, false: 1}[a.needed]
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// prompt says what a property means and which values it takes.
func (f *field) prompt() string {
	var hints []string
	if words := strings.TrimSpace(f.Title + " " + f.Description); words != "" {
		hints = append(hints, words)
	}
	if len(f.Enum) > 0 {
		var names []string
		for _, value := range f.Enum {
			names = append(names, fmt.Sprint(value))
		}
		hints = append(hints, "one of "+strings.Join(names, ", "))
	} else if kind, is := f.Type.(string); is && kind != "string" {
		hints = append(hints, kind)
	}
	if len(f.Default) > 0 {
		hints = append(hints, "default "+string(f.Default))
	} else if !f.needed {
		hints = append(hints, "may be empty")
	}
	text := f.name
	if len(hints) > 0 {
		text += " (" + strings.Join(hints, "; ") + ")"
	}
	return output.Visible(text) + "> "
}

// value returns typed text as JSON of the property's type; nil leaves the property out.
func (f *field) value(text string) json.RawMessage {
	kind, _ := f.Type.(string)
	switch {
	case text == "":
		return f.Default
	case kind != "string" && json.Valid([]byte(text)):
		return json.RawMessage(text)
	case kind == "boolean" && consent.Of(text) != consent.Undecided:
		return json.RawMessage(strconv.FormatBool(consent.Of(text) == consent.Accepted))
	}
	raw, _ := json.Marshal(text) // A string can always be encoded.
	return raw
}

// converse follows a job and puts its questions to the person, until the job ends or waits only for others.
func (d *dialog) converse(ctx context.Context, c *client.Client, follow func(from uint64, done func(h *joblog.Log) bool) (*joblog.Log, error)) (*joblog.Log, error) {
	from := uint64(0)
	for {
		h, err := follow(from, func(h *joblog.Log) bool { return over(h) || d.open(h) != nil })
		if err != nil || over(h) {
			return h, err
		}
		q := d.open(h)
		if q == nil {
			return h, nil
		}
		last := h.Events[len(h.Events)-1].Seq
		err = d.ask(ctx, c, q, last)
		if errors.Is(err, errLeft) || errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		from = last + 1
	}
}
