package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Book holds plan documents and knows which one is active. Models, programs and people edit it with the plan operations (O2 in
// docs/conformance.md). It has one owner and is not safe for concurrent use.
type Book struct {
	// Boards are the plans in the order of their creation.
	Boards []Board `json:"boards,omitempty"`
	// Active is the id of the plan that get and mark_step use if they name none; "" for none.
	Active string `json:"active,omitempty"`
}

// The commands of operations.
const (
	OpCreate    = "create"
	OpUpdate    = "update"
	OpList      = "list"
	OpGet       = "get"
	OpSetActive = "set_active"
	OpMarkStep  = "mark_step"
	OpDelete    = "delete"
	// OpFinish applies only to graphs of jobs: steps that have not begun are left out, since the goal is reached.
	OpFinish = "finish"
)

// Operations lists all operations.
func Operations() []string {
	return []string{OpCreate, OpUpdate, OpList, OpGet, OpSetActive, OpMarkStep, OpDelete, OpFinish}
}

// JobPrefix before a plan id selects the graph of the job with that id, even if a plan document has the same id.
const JobPrefix = "job:"

// Target says what an operation concerns. It returns the job id if the plan id has JobPrefix. With maybe, it concerns that job's
// graph if the job exists, else the book. An empty job means the book.
func (b *Book) Target(op Operation) (job string, maybe bool) {
	id := op.PlanID
	if id == "" && (op.Command == OpGet || op.Command == OpMarkStep || op.executor != nil) {
		if id = b.Active; id == "" && op.executor != nil {
			id = JobPrefix + *op.within
		}
	}
	job, given := strings.CutPrefix(id, JobPrefix)
	switch op.Command {
	case OpCreate, OpList:
		return "", false
	}
	switch {
	case job == "", !given && (b.find(id) >= 0 || !events.ValidToken(id)), op.within != nil && *op.within != job:
		return "", false
	}
	return job, !given
}

// Operation is one call. The command determines which fields it needs.
type Operation struct {
	// Command is one of Operations.
	Command string `json:"command"`
	// PlanID selects the plan; without it get and mark_step use the active one.
	PlanID string `json:"plan_id,omitempty"`
	// Title and Steps describe the plan. create needs both, update only what it changes.
	Title string   `json:"title,omitempty"`
	Steps []string `json:"steps,omitempty"`
	// Plan is a whole graph in any dialect, instead of Title and Steps.
	Plan json.RawMessage `json:"plan,omitempty"`
	// StepIndex counts from 0. StepID selects a step of a job by its SubJob instead. StepStatus and StepNotes are the new
	// mark and notes.
	StepIndex  *int    `json:"step_index,omitempty"`
	StepID     string  `json:"step_id,omitempty"`
	StepStatus string  `json:"step_status,omitempty"`
	StepNotes  *string `json:"step_notes,omitempty"`
	// By is the user who asks, "" if unknown.
	By string `json:"-"`
	// hasSteps is true if steps are given, even an empty list.
	hasSteps bool
	// within, if set, is the only job whose graph may be used; "" allows no job.
	within *string
	// executor is the run of that job that sends the operation, and whose plan is the default; nil for others.
	executor *Executor
}

// ReadOperation reads an operation from the arguments of a tool call. It reports all faults together.
func ReadOperation(raw []byte) (Operation, events.Faults) {
	d := &draft{}
	r, ok := d.operationIn(raw)
	if !ok {
		return Operation{}, d.faults.all()
	}
	op := d.operation(&r)
	return op, d.faults.all()
}

// operationIn reads the object of an operation.
func (d *draft) operationIn(raw []byte) (r reader, ok bool) {
	if !json.Valid(raw) {
		d.faults.add(events.CodeMalformed, "", "the operation is no JSON", `send {"command":"list"} for one`)
		return r, false
	}
	return d.read(raw, "")
}

// ReadRequest reads an operation whose command is known, and the name of its book, "" if there is none. The field "by" is the user
// who asks; "within" limits the operation to the graph of one job, or with "" to no job at all. An empty request contains only the
// command. It reports all faults together.
func ReadRequest(command string, raw []byte) (book string, op Operation, faults events.Faults) {
	d := &draft{}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	r, ok := d.operationIn(raw)
	if !ok {
		return "", Operation{}, d.faults.all()
	}
	book = r.text("book")
	var within *string
	if _, limited := r.value("within"); limited {
		id := r.text("within")
		within = &id
	}
	executor := Executor{SubJob: r.text("executor"), Key: r.text("key")}
	if run := r.index("run"); run != nil {
		executor.Run = *run
	}
	by := r.text("by")
	op = d.operation(&r)
	op.By = by
	if op.within = within; within != nil && *within != "" && executor.SubJob != "" {
		op.executor = &executor
	}
	if op.Command != "" && op.Command != command {
		d.faults.add(events.CodeConflict, "command", fmt.Sprintf("is %.40q, asked was %s", op.Command, command), "leave it out")
	}
	op.Command = command
	return book, op, d.faults.all()
}

// operation reads the fields.
func (d *draft) operation(r *reader) Operation {
	op := Operation{
		Command: strings.ToLower(strings.TrimSpace(r.text("command"))), PlanID: strings.TrimSpace(r.text("plan_id")), Title: r.text("title"),
		StepStatus: strings.ToLower(strings.TrimSpace(r.text("step_status"))), StepIndex: r.index("step_index"),
		StepID: strings.TrimSpace(r.text("step_id")), Plan: r.raw("plan"),
	}
	if list, ok := r.value("steps"); ok {
		op.hasSteps = true
		items, isList := cutList(list)
		if !isList {
			d.faults.add(events.CodeInvalid, "steps", "is "+nameOf(list)+", expected a list of texts", "")
		}
		for i, item := range items {
			text, ok := scalar(item)
			if !ok || kindOf(item) != '"' {
				d.faults.add(events.CodeInvalid, fmt.Sprintf("steps[%d]", i), "is "+nameOf(item)+", expected a text", "")
			}
			op.Steps = append(op.Steps, text)
		}
	}
	if _, ok := r.value("step_notes"); ok {
		notes := r.text("step_notes")
		op.StepNotes = &notes
	}
	r.refuse("command, plan_id, title, steps, plan, step_index, step_id, step_status, step_notes")
	return op
}

// index reads an integer of any sign; the operation checks its range.
func (r *reader) index(name string) *int {
	var n int
	if !r.into(name, "a whole number", &n) {
		return nil
	}
	return &n
}

// Do executes an operation and returns a text about the result. On an error, an *events.Fault, nothing has changed.
func (b *Book) Do(op Operation) (string, error) {
	switch op.Command {
	case OpCreate:
		return b.create(op)
	case OpUpdate:
		return b.update(op)
	case OpList:
		return b.list(), nil
	case OpGet:
		board, err := b.named(op, true)
		if err != nil {
			return "", err
		}
		return board.String(), nil
	case OpSetActive:
		board, err := b.named(op, false)
		if err != nil {
			return "", err
		}
		b.Active = board.ID
		return fmt.Sprintf("Plan %q is the active one now.\n\n%s", board.ID, board), nil
	case OpMarkStep:
		return b.markStep(op)
	case OpDelete:
		return b.remove(op)
	case OpFinish:
		return "", &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: "only the plan by which a job runs can be finished", Hint: "mark the steps of a plan of your own"}
	}
	return "", &events.Fault{
		Code: events.CodeInvalid, Field: "command", Message: fmt.Sprintf("unknown command %.40q", op.Command),
		Hint: "the commands are " + strings.Join(Operations(), ", "),
	}
}

func missing(op Operation, field, hint string) error {
	return &events.Fault{Code: events.CodeMissing, Field: field, Message: field + " is needed for " + op.Command, Hint: hint}
}

func (b *Book) find(id string) int {
	return slices.IndexFunc(b.Boards, func(board Board) bool { return board.ID == id })
}

// named finds the plan of an operation. With active, an operation without a plan id uses the active plan.
func (b *Book) named(op Operation, active bool) (*Board, error) {
	id := op.PlanID
	if id == "" && active {
		if id = b.Active; id == "" {
			return nil, &events.Fault{Code: events.CodeMissing, Field: "plan_id", Message: "no plan is active", Hint: "give plan_id, or choose a plan with set_active"}
		}
	}
	if id == "" {
		return nil, missing(op, "plan_id", "list shows the ids")
	}
	at := b.find(id)
	if at < 0 {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "plan_id", Message: fmt.Sprintf("there is no plan %.80q", id), Hint: "list shows the ids"}
	}
	return &b.Boards[at], nil
}

func (b *Book) create(op Operation) (string, error) {
	switch {
	case op.PlanID == "":
		return "", missing(op, "plan_id", "choose one that is not taken")
	case strings.HasPrefix(op.PlanID, JobPrefix):
		return "", &events.Fault{Code: events.CodeInvalid, Field: "plan_id", Message: JobPrefix + " stands for the graph of a job", Hint: "choose another id; a job has its plan from the planner"}
	case b.find(op.PlanID) >= 0:
		return "", &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: fmt.Sprintf("plan %.80q exists already", op.PlanID), Hint: "use update to change it"}
	}
	board := Board{ID: op.PlanID, Title: op.Title}
	if err := board.fill(op); err != nil {
		return "", err
	}
	b.Boards = append(b.Boards, board)
	b.Active = board.ID
	return fmt.Sprintf("Plan %q was created.\n\n%s", board.ID, &board), nil
}

// fill sets the steps of a new board.
func (b *Board) fill(op Operation) error {
	if len(op.Plan) > 0 {
		return b.read(op)
	}
	if strings.TrimSpace(op.Title) == "" {
		return missing(op, "title", "say what the plan is for")
	}
	if err := steps(op); err != nil {
		return err
	}
	b.Lines = lines(op.Steps, nil)
	return nil
}

// read takes the steps from a graph. A step that already existed keeps its mark and notes.
func (b *Board) read(op Operation) error {
	if op.hasSteps || len(op.Steps) > 0 {
		return &events.Fault{Code: events.CodeConflict, Field: "steps", Message: "given together with plan", Hint: "keep one of the two"}
	}
	title, list, faults := sketch(op.Plan)
	if len(faults) > 0 {
		return faults
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Text
	}
	b.Title = firstOf(op.Title, title, b.Title, b.ID)
	b.Lines, b.Plan = lines(texts, b.Lines), op.Plan
	return nil
}

// steps checks that there is at least one step and that no step is empty.
func steps(op Operation) error {
	if len(op.Steps) == 0 {
		return &events.Fault{Code: events.CodeMissing, Field: "steps", Message: "steps must be a list of at least one text for " + op.Command, Hint: "one sentence for each step"}
	}
	for i, text := range op.Steps {
		if strings.TrimSpace(text) == "" {
			return &events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("steps[%d]", i), Message: "says nothing", Hint: "one sentence for each step"}
		}
	}
	return nil
}

func (b *Book) update(op Operation) (string, error) {
	board, err := b.named(op, false)
	if err != nil {
		return "", err
	}
	if err := board.revise(op); err != nil {
		return "", err
	}
	if strings.TrimSpace(op.Title) != "" {
		board.Title = op.Title
	}
	return fmt.Sprintf("Plan %q was updated.\n\n%s", board.ID, board), nil
}

// revise replaces the steps of a board, if the operation has any.
func (b *Board) revise(op Operation) error {
	switch {
	case len(op.Plan) > 0:
		return b.read(op)
	case !op.hasSteps && len(op.Steps) == 0:
		return nil
	case len(b.Plan) > 0:
		return &events.Fault{Code: events.CodeConflict, Field: "steps", Message: fmt.Sprintf("plan %.80q is a graph", b.ID), Hint: "give the whole graph as plan"}
	}
	if err := steps(op); err != nil {
		return err
	}
	b.Lines = lines(op.Steps, b.Lines)
	return nil
}

// lines converts texts to steps. A step whose text existed before keeps its mark and notes, wherever it was. If several old
// steps have the same text, each is used once, in order.
func lines(texts []string, old []Line) []Line {
	taken := make([]bool, len(old))
	out := make([]Line, len(texts))
	keep := func(i, at int) {
		out[i], taken[at] = old[at], true
	}
	for i, text := range texts {
		out[i] = Line{Text: text, Mark: NotStarted}
		if i < len(old) && old[i].Text == text {
			keep(i, i)
		}
	}
	for i, text := range texts {
		if i < len(old) && old[i].Text == text {
			continue
		}
		if at := slices.IndexFunc(old, func(l Line) bool { return l.Text == text }); at >= 0 {
			for ; at < len(old); at++ {
				if !taken[at] && old[at].Text == text {
					keep(i, at)
					break
				}
			}
		}
	}
	return out
}

func (b *Book) list() string {
	job := strings.HasPrefix(b.Active, JobPrefix)
	if len(b.Boards) == 0 && !job {
		return "There are no plans. Make one with create."
	}
	out := []byte("Plans:\n")
	for i := range b.Boards {
		board := &b.Boards[i]
		active := ""
		if board.ID == b.Active {
			active = " (active)"
		}
		out = fmt.Appendf(out, "• %s%s: %s - %d/%d steps completed%s\n", board.ID, active, board.Title, board.Count(Completed), len(board.Lines), board.until())
	}
	if job {
		out = fmt.Appendf(out, "• %s (active): the graph of that job\n", b.Active)
	}
	return string(out)
}

func (b *Book) markStep(op Operation) (string, error) {
	board, err := b.named(op, true)
	if err != nil {
		return "", err
	}
	if op.StepID != "" && op.StepIndex == nil {
		return "", &events.Fault{
			Code: events.CodeInvalid, Field: "step_id", Message: fmt.Sprintf("%.80q is no number: only steps of a job have names", op.StepID),
			Hint: fmt.Sprintf("steps of a stored plan are numbered: 0 to %d", len(board.Lines)-1),
		}
	}
	if err := op.inside(len(board.Lines)); err != nil {
		return "", err
	}
	mark, err := op.mark()
	if err != nil {
		return "", err
	}
	line := &board.Lines[*op.StepIndex]
	if mark != "" {
		line.Mark = mark
	}
	if op.StepNotes != nil {
		line.Notes = *op.StepNotes
	}
	return fmt.Sprintf("Step %d of plan %q was marked.\n\n%s", *op.StepIndex, board.ID, board), nil
}

func (b *Book) remove(op Operation) (string, error) {
	board, err := b.named(op, false)
	if err != nil {
		return "", err
	}
	id := board.ID
	b.Boards = slices.Delete(b.Boards, b.find(id), b.find(id)+1)
	if b.Active == id {
		b.Active = ""
	}
	return fmt.Sprintf("Plan %q was deleted.", id), nil
}
