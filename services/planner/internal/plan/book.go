package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Book holds plans that are written down step by step, and which of them is active: what a model, a program or a person
// keeps with the plan operations (ancestors O2). It has one owner.
type Book struct {
	// Boards are the plans, in the order in which they were created.
	Boards []Board `json:"boards,omitempty"`
	// Active is the id of the plan that get and mark_step mean when they name none; "" for none.
	Active string `json:"active,omitempty"`
}

// The operations.
const (
	OpCreate    = "create"
	OpUpdate    = "update"
	OpList      = "list"
	OpGet       = "get"
	OpSetActive = "set_active"
	OpMarkStep  = "mark_step"
	OpDelete    = "delete"
)

// Operations lists all of them.
func Operations() []string {
	return []string{OpCreate, OpUpdate, OpList, OpGet, OpSetActive, OpMarkStep, OpDelete}
}

// Operation is one call; which fields it needs depends on the command.
type Operation struct {
	// Command is one of Operations.
	Command string `json:"command"`
	// PlanID names the plan; get and mark_step take the active one without it.
	PlanID string `json:"plan_id,omitempty"`
	// Title and Steps are those of the plan; create needs both, update what it changes.
	Title string   `json:"title,omitempty"`
	Steps []string `json:"steps,omitempty"`
	// StepIndex counts from 0; StepStatus and StepNotes are what to mark it with.
	StepIndex  *int    `json:"step_index,omitempty"`
	StepStatus string  `json:"step_status,omitempty"`
	StepNotes  *string `json:"step_notes,omitempty"`
	// hasSteps is true when steps are given, be it an empty list.
	hasSteps bool
}

// ReadOperation reads an operation from the arguments of a tool call or a request. Every fault is told.
func ReadOperation(raw []byte) (Operation, events.Faults) {
	d := &draft{}
	r, ok := d.read(raw, "")
	if !ok {
		return Operation{}, d.faults.all()
	}
	op := Operation{
		Command: strings.ToLower(strings.TrimSpace(r.text("command"))), PlanID: strings.TrimSpace(r.text("plan_id")), Title: r.text("title"),
		StepStatus: strings.ToLower(strings.TrimSpace(r.text("step_status"))), StepIndex: r.index("step_index"),
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
	r.refuse("command, plan_id, title, steps, step_index, step_status, step_notes")
	return op, d.faults.all()
}

// index reads a whole number of any sign: the operation says which are in range.
func (r *reader) index(name string) *int {
	var n int
	if !r.into(name, "a whole number", &n) {
		return nil
	}
	return &n
}

// Do carries out an operation and says what came of it. An error changes nothing; it is an *events.Fault.
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

// named finds the plan of an operation, the active one where that is allowed and none is named.
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
	case b.find(op.PlanID) >= 0:
		return "", &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: fmt.Sprintf("plan %.80q exists already", op.PlanID), Hint: "use update to change it"}
	case strings.TrimSpace(op.Title) == "":
		return "", missing(op, "title", "say what the plan is for")
	}
	if err := steps(op); err != nil {
		return "", err
	}
	board := Board{ID: op.PlanID, Title: op.Title, Lines: lines(op.Steps, nil)}
	b.Boards = append(b.Boards, board)
	b.Active = board.ID
	return fmt.Sprintf("Plan %q was created.\n\n%s", board.ID, &board), nil
}

// steps checks that there are some and that each says something.
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
	if op.hasSteps || len(op.Steps) > 0 {
		if err := steps(op); err != nil {
			return "", err
		}
		board.Lines = lines(op.Steps, board.Lines)
	}
	if strings.TrimSpace(op.Title) != "" {
		board.Title = op.Title
	}
	return fmt.Sprintf("Plan %q was updated.\n\n%s", board.ID, board), nil
}

// lines makes steps of texts. A step that was there before keeps its mark and its notes, wherever it stands now; of several
// with one text, the first that is left.
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
	if len(b.Boards) == 0 {
		return "There are no plans. Make one with create."
	}
	out := []byte("Plans:\n")
	for i := range b.Boards {
		board := &b.Boards[i]
		active := ""
		if board.ID == b.Active {
			active = " (active)"
		}
		out = fmt.Appendf(out, "• %s%s: %s - %d/%d steps completed\n", board.ID, active, board.Title, board.Count(Completed), len(board.Lines))
	}
	return string(out)
}

func (b *Book) markStep(op Operation) (string, error) {
	board, err := b.named(op, true)
	switch {
	case err != nil:
		return "", err
	case op.StepIndex == nil:
		return "", missing(op, "step_index", "steps count from 0")
	case *op.StepIndex < 0 || *op.StepIndex >= len(board.Lines):
		return "", &events.Fault{
			Code: events.CodeInvalid, Field: "step_index", Message: fmt.Sprintf("there is no step %d", *op.StepIndex), Hint: fmt.Sprintf("steps go from 0 to %d", len(board.Lines)-1),
		}
	case op.StepStatus != "" && !slices.Contains(Marks(), Mark(op.StepStatus)):
		return "", &events.Fault{
			Code: events.CodeInvalid, Field: "step_status", Message: fmt.Sprintf("unknown status %.40q", op.StepStatus), Hint: "use not_started, in_progress, completed or blocked",
		}
	}
	line := &board.Lines[*op.StepIndex]
	if op.StepStatus != "" {
		line.Mark = Mark(op.StepStatus)
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
