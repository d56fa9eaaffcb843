package graph

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Errors of New and Fold.
var (
	// ErrNoRequest means that the first event is not job.requested.
	ErrNoRequest = errors.New("the log does not begin with job.requested")
	// ErrRules means that a newer version decides this job.
	ErrRules = errors.New("the job is decided by newer rules")
)

// Job is the state of one job, mutated in place by Step. One owner; not safe for concurrent use.
type Job struct {
	State
	nodes []*node
	ids   map[string]int32
	// now is the event being applied, kept in current; nil between steps.
	now     *events.Event
	current events.Event
	// tally counts steps per status, at the places that place gives.
	tally [len(statuses)]int
	// open counts live runs of steps, asking steps that wait for input, fencing steps that wait for nothing but the end of
	// their former run.
	open, asking, fencing int
	// queue holds nodes to look at before the step ends; held those that wait for a free place.
	queue []int32
	held  heap
	// inputs finds open requests by id; a closed one is there with nil.
	inputs map[string]*InputState
	// attention lists the nodes, dueInputs the requests, that may owe a command.
	attention   []int32
	dueInputs   []*InputState
	transitions []events.Transition
	// sent is what this process has delivered for the job as a whole: the epoch of the deadline, the turn of end, reap timer
	// and reaping, and for each of Facts whether it is.
	sent struct {
		deadline, end, reap, reaped int
		facts                       []bool
	}
	// gate is asked for each run during PendingWithin; lanes are what the job has per pool, once a gate was asked.
	gate  func(pool string) bool
	lanes []lane
	// admitted are the runs of steps, by SubJob, whose work Pending may give; every one when nil.
	admitted map[string]int
	// spare are nodes and their states for those to come, allocated together.
	spare []pair
}

// statuses are those of SubJobs, in the order of Job.tally.
var statuses = [...]events.Status{events.Created, events.Ready, events.Running, events.Waiting, events.Finished, events.Failed, events.Stopped, events.Legacy}

// place is where a status stands in statuses.
func place(s events.Status) int {
	switch s {
	case events.Created:
		return 0
	case events.Ready:
		return 1
	case events.Running:
		return 2
	case events.Waiting:
		return 3
	case events.Finished:
		return 4
	case events.Failed:
		return 5
	case events.Stopped:
		return 6
	}
	return 7
}

func (j *Job) number(s events.Status) int { return j.tally[place(s)] }

func empty() Job {
	j := Job{ids: map[string]int32{}, inputs: map[string]*InputState{}}
	j.Counts = map[events.Status]int{}
	return j
}

// New makes the state of a job from its job.requested: CREATED.
func New(e events.Event) (*Job, error) {
	r, ok := e.Data.(*events.JobRequested)
	if !ok {
		return nil, ErrNoRequest
	}
	if r.Rules.Version > events.RulesVersion {
		return nil, fmt.Errorf("%w: version %d, this one knows %d", ErrRules, r.Rules.Version, events.RulesVersion)
	}
	job := empty()
	j := &job
	j.State = State{
		Fold: FoldVersion, Counts: j.Counts, ID: e.Job, Status: events.Created, Goal: cut(r.Request.Goal, 500), Profile: r.Request.Profile,
		Session: r.Request.Session, Thread: r.Request.Thread, User: r.Request.User, Labels: r.Request.Labels, Seq: e.Seq, EventID: e.ID,
		Created: e.Time, Changed: e.Time, RequestSeq: e.Seq, Epoch: 1, Rules: r.Rules,
	}
	j.begin(e)
	j.setDeadline()
	j.add(SubJobState{ID: events.PlanID, Status: events.Created, Expert: events.PlannerExpert, Pool: events.PlannerPool, RetryLimit: r.Rules.Retries})
	j.startPlanning(events.WorkPlan)
	j.drain()
	j.done()
	return j, nil
}

// begin and done enclose the application of one event.
func (j *Job) begin(e events.Event) {
	j.current = e
	j.now = &j.current
}

func (j *Job) done() {
	j.now = nil
	j.current = events.Event{}
}

// Fold makes the state out of a whole log. An event it must not skip is an error.
func Fold(seq iter.Seq2[events.Event, error]) (*Job, error) {
	var j *Job
	for e, err := range seq {
		if err != nil {
			return j, err
		}
		if j == nil {
			if j, err = New(e); err != nil {
				return nil, err
			}
			continue
		}
		if effect := j.Step(e); effect.Verdict == Poisoned {
			return j, fmt.Errorf("event %d of job %s: %s", e.Seq, j.State.ID, effect.Reason)
		}
	}
	if j == nil {
		return nil, ErrNoRequest
	}
	return j, nil
}

// View gives the state; it is valid until the next Step and must not be changed.
func (j *Job) View() *State {
	j.State.SubJobs = j.State.SubJobs[:0]
	for _, n := range j.nodes {
		j.State.SubJobs = append(j.State.SubJobs, n.SubJobState)
	}
	clear(j.Counts)
	j.Progress = Progress{Done: j.number(events.Finished), Total: j.size()}
	for i, s := range statuses {
		if j.tally[i] > 0 {
			j.Counts[s] = j.tally[i]
		}
	}
	slices.SortFunc(j.State.Inputs, func(a, b *InputState) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, in := range j.State.Inputs {
		in.at = i
	}
	return &j.State
}

// size is the number of SubJobs of the present graph.
func (j *Job) size() int {
	total := 0
	for _, n := range j.tally[:place(events.Legacy)] {
		total += n
	}
	return total
}

// AtRest reports whether nothing is in flight: no live run, no timer nearer than a person.
func (j *Job) AtRest() bool {
	if j.Status.Terminal() || j.Status == events.Waiting {
		return true
	}
	if j.open > 0 || j.plan().Open || j.number(events.Ready) > 0 {
		return false
	}
	final := j.find(events.FinalID)
	return final == nil || !final.Open
}

// Transitions gives what happened to SubJobs since the last call, and forgets it.
func (j *Job) Transitions() []events.Transition {
	t := j.transitions
	j.transitions = nil
	return t
}

func (j *Job) plan() *node { return j.nodes[0] }

func (j *Job) find(id string) *node {
	if at, ok := j.ids[id]; ok {
		return j.nodes[at]
	}
	return nil
}

// pair is a node beside its state: what is used together lies together.
type pair struct {
	node  node
	state SubJobState
}

// reserve allocates nodes that are about to be added.
func (j *Job) reserve(n int) {
	j.nodes = slices.Grow(j.nodes, n)
	j.spare = make([]pair, n)
}

// add appends a node; the caller links it.
func (j *Job) add(s SubJobState) *node {
	if len(j.spare) == 0 {
		j.spare = make([]pair, 1)
	}
	p := &j.spare[0]
	j.spare = j.spare[1:]
	p.state = s
	n := &p.node
	n.SubJobState, n.at = &p.state, int32(len(j.nodes))
	j.nodes = append(j.nodes, n)
	j.ids[s.ID] = n.at
	if n.step() {
		j.tally[place(s.Status)]++
	}
	return n
}

// move changes a node's status along the table of legal moves.
func (j *Job) move(n *node, to events.Status, transition string) {
	j.moveRun(n, to, transition, n.Run)
}

// moveRun is move for a transition that is about another run than the last one.
func (j *Job) moveRun(n *node, to events.Status, transition string, run int) {
	if n.Status == to {
		return
	}
	if !legal(n.Status, to) {
		panic(fmt.Sprintf("illegal move of %s from %s to %s by %s", n.ID, n.Status, to, j.now.Kind))
	}
	if n.step() {
		j.tally[place(n.Status)]--
		j.tally[place(to)]++
		j.transitions = append(j.transitions, events.Transition{SubJob: n.ID, Run: run, Transition: transition, Cause: j.now.Seq})
	}
	n.Status = to
	switch to {
	case events.Ready:
		j.over(n)
	case events.Running:
		j.began(n)
		j.dequeue(n)
	default:
		j.over(n)
		j.dequeue(n)
	}
	j.refence(n)
	if n.Session != "" {
		j.tellSession(n)
	}
}

// refence counts a node among those that wait for nothing but the end of a former run, or no longer.
func (j *Job) refence(n *node) {
	fenced := n.step() && n.Status == events.Created && (n.Closing != 0 || !n.FenceAt.IsZero())
	if fenced == n.fenced {
		return
	}
	n.fenced = fenced
	if fenced {
		j.fencing++
	} else {
		j.fencing--
	}
}

// attend puts a node on the list of those that may owe a command.
func (j *Job) attend(n *node) {
	if !n.attention {
		n.attention = true
		j.attention = append(j.attention, n.at)
	}
}

// look puts a node on the list of those to be examined before the step ends.
func (j *Job) look(n *node) { j.queue = append(j.queue, n.at) }

func (j *Job) setDeadline() {
	if j.Rules.Deadline > 0 {
		j.Deadline = j.now.Time.Add(j.Rules.Deadline.Std())
	}
}

// fault makes the job's or a SubJob's reason.
func fault(code events.Code, message string) *events.Fault {
	return &events.Fault{Code: code, Message: message}
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// later gives the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
