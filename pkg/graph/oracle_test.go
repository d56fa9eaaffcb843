package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// oracle is a second, naive core, written from the table of moves and the prose of the architecture. It keeps no counters,
// no successors, no queue and no saved form: it reads the whole log again for every event, and after each event looks at
// every SubJob until nothing can start any more. Where the two cores disagree, one of them is wrong.
type oracle struct {
	rules   events.Rules
	status  events.Status
	steps   []*ostep
	version int
	rounds  int // planning runs of the whole job
	inputs  int // complaints of the whole job
	tokens  int64
	replan  bool
	epoch   int
	open    map[string]*ostep // who asked each open request; nil: closed
	asking  map[string]events.InputKind
	seq     uint64
}

type ostep struct {
	id, scope, base                   string
	status                            events.Status
	run                               int
	open                              bool
	mode                              events.WorkKind
	deps                              []string
	when                              *Condition
	text                              string
	workable, given, skipped, timeout bool
	done                              uint64
	kept                              map[string]json.RawMessage // requested values
	attempts, complaints              int
	life, retries                     int
	backoff                           bool
	closing, fence                    int
	request                           string
	replaced                          []string
	standing                          bool // The stand-in of the model writes the result.
}

// planner is the index of the planning of the whole job among the steps.
const planner = 0

func (o *oracle) get(id string) *ostep {
	for _, s := range o.steps {
		if s.id == id {
			return s
		}
	}
	return nil
}

// graph returns the steps of the present graph.
func (o *oracle) graph() []*ostep {
	var all []*ostep
	for _, s := range o.steps {
		if s.id != events.PlanID && s.id != events.FinalID && s.status != events.Legacy {
			all = append(all, s)
		}
	}
	return all
}

func (o *oracle) with(statuses ...events.Status) []*ostep {
	var all []*ostep
	for _, s := range o.graph() {
		if slices.Contains(statuses, s.status) {
			all = append(all, s)
		}
	}
	return all
}

func unended(s *ostep) bool {
	return s.status == events.Created || s.status == events.Ready || s.status == events.Running || s.status == events.Waiting
}

func (o *oracle) over() bool { return o.status.Terminal() }

// dependents returns everything that would have to run again after these steps; it stops at results that came with the plan.
func (o *oracle) dependents(roots []*ostep) []*ostep {
	all := slices.Clone(roots)
	for grown := true; grown; {
		grown = false
		for _, s := range o.graph() {
			if slices.Contains(all, s) || s.given {
				continue
			}
			for _, d := range s.deps {
				if slices.Contains(all, o.get(d)) {
					all, grown = append(all, s), true
					break
				}
			}
		}
	}
	return all
}

func (o *oracle) apply(e *events.Event) {
	s := o.get(e.SubJob)
	live := s != nil && s.open && s.run == e.Run
	switch d := e.Data.(type) {
	case *events.SubJobStarted:
		if live && s.status == events.Ready {
			s.status = events.Running
		}
	case *events.JobMoved:
		if e.Kind == events.KindJobPlanning && o.status == events.Created {
			o.status = events.Planning
		}
	case *events.SubJobClosed:
		if s != nil && s.closing != 0 && s.closing == e.Run {
			s.closing = 0
			if d.Claimed {
				s.fence = e.Run
			}
		}
	case *events.TimerFired:
		o.timer(d.Timer)
	case *events.InputClosed:
		o.closed(e.Key, d)
	case *events.StopRequested:
		o.stop(d, events.Stopped)
	case *events.FailRequested:
		o.stop((*events.StopRequested)(d), events.Failed)
	case *events.RecoverRequested:
		o.recover(d)
	case *events.RetryRequested:
		o.retryByHand(d)
	case *events.RerunRequested:
		o.rerunByHand(d)
	case *events.PlanEdited:
		if !o.over() && !unended(o.steps[planner]) && o.version > 0 && o.version == d.PlanVersion && o.acceptable(d.Plan, true) {
			o.unfinal()
			o.replan = false
			o.install(d.Plan)
		}
	default:
		o.ending(e, s, live)
	}
}

// ending is any event on a run's own subject that ends it.
func (o *oracle) ending(e *events.Event, s *ostep, live bool) {
	if !slices.Contains([]events.Kind{events.KindSubJobReported, events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered, events.KindInputRequested}, e.Kind) || s == nil {
		return
	}
	report := &events.SubJobReported{Outcome: events.ExecutionError}
	if e.Kind == events.KindSubJobReported {
		report = e.Report()
	}
	if !live {
		if e.Run > 0 && e.Run <= s.run && (s.closing == e.Run || s.fence == e.Run) {
			s.closing, s.fence = 0, 0
			o.tokens += report.Tokens
			o.budget()
		}
		return
	}
	planning := s.mode == events.WorkPlan || s.mode == events.WorkReplan || s.mode == events.WorkSplit
	if (e.Kind == events.KindGraphCreated || e.Kind == events.KindPlanRejected || e.Kind == events.KindJobAnswered) && !planning {
		return
	}
	s.open = false
	o.tokens += report.Tokens
	switch d := e.Data.(type) {
	case *events.InputRequested:
		if _, used := o.open[d.Request]; used {
			o.tryAgain(s)
			break
		}
		o.open[d.Request], o.asking[d.Request] = s, d.Kind
		s.request, s.status = d.Request, events.Waiting
	case *events.PlanRejected:
		o.failed(s)
	case *events.JobAnswered:
		if s.mode != events.WorkPlan {
			o.tryAgain(s)
			break
		}
		s.status = events.Finished
		o.end(events.Finished)
	case *events.GraphCreated:
		switch {
		case !o.acceptable(d.Plan, s.id == events.PlanID):
			o.tryAgain(s)
		case s.id == events.PlanID:
			s.status = events.Finished
			o.install(d.Plan)
		default:
			o.splice(s, d.Plan)
		}
	default:
		o.outcome(s, report, planning)
	}
	o.budget()
}

func (o *oracle) budget() {
	f := o.get(events.FinalID)
	if !o.over() && o.broke() && (!o.worded() || f == nil || !unended(f)) {
		o.end(events.Failed)
	}
}

func (o *oracle) broke() bool { return o.rules.Tokens > 0 && o.tokens > o.rules.Tokens }

// worded reports whether the result is written as a text.
func (o *oracle) worded() bool {
	return o.rules.Version >= 2 && (strings.HasPrefix(o.rules.Finalize, "summary") || strings.HasPrefix(o.rules.Finalize, "report"))
}

// descend goes to the next fallback level: model, stand-in, fixed text, last results.
func (o *oracle) descend(s *ostep) bool {
	if s.id != events.FinalID || !o.worded() {
		return false
	}
	s.attempts++
	s.standing = s.attempts == 1 && strings.Contains(o.rules.Finalize, ":") && !o.broke()
	if s.attempts == 1 && !s.standing {
		s.attempts = 2
	}
	if s.attempts < 3 {
		if s.status == events.Running {
			s.status = events.Ready
		}
		return true
	}
	s.status = events.Failed
	o.end(events.Finished)
	return true
}

func (o *oracle) outcome(s *ostep, r *events.SubJobReported, planning bool) {
	switch {
	case planning:
		o.tryAgain(s)
	case r.Outcome == events.Success && s.standing:
		s.standing, s.attempts = false, 2
		if s.status == events.Running {
			s.status = events.Ready
		}
	case r.Outcome == events.Success:
		o.finish(s, r.Output)
		if s.id == events.FinalID {
			o.end(events.Finished)
		}
	case r.Outcome == events.InputDataError:
		o.complain(s)
	case r.Outcome == events.TooComplicated && (s.life == 0 || s.id == events.FinalID):
		o.failed(s)
	case r.Outcome == events.TooComplicated:
		s.life--
		s.attempts, s.mode, s.status = 0, events.WorkSplit, events.Ready
	case r.Error != nil && r.Error.Code == events.CodeNotPermitted && o.rules.Version >= 3:
		o.failed(s)
	default:
		o.tryAgain(s)
	}
}

func (o *oracle) finish(s *ostep, output json.RawMessage) {
	s.status, s.done, s.kept = events.Finished, o.seq, map[string]json.RawMessage{}
	for _, r := range o.graph() {
		for _, read := range r.when.operands() {
			if slices.Contains(o.means(r, read.subjob), s) {
				if v, ok := Select(output, read.path); ok {
					s.kept[read.path] = v
				} else {
					s.kept[read.path] = nil
				}
			}
		}
	}
}

// means returns the steps behind a name in a condition: the one with that name beside r, and those that it was split into.
func (o *oracle) means(r *ostep, name string) []*ostep {
	s := o.get(r.scope + name)
	if s == nil {
		return nil
	}
	all := []*ostep{s}
	for i := 0; i < len(all); i++ {
		for _, id := range all[i].replaced {
			all = append(all, o.get(id))
		}
	}
	return all
}

func (o *oracle) tryAgain(s *ostep) {
	if o.descend(s) {
		return
	}
	s.attempts++
	switch {
	case s.attempts > s.retries:
		o.failed(s)
	case o.rules.RetryDelay > 0:
		s.status, s.backoff = events.Waiting, true
	case s.status == events.Running:
		s.status = events.Ready
	}
}

func (o *oracle) complain(s *ostep) {
	var back []*ostep
	for _, id := range s.deps {
		d := o.get(id)
		dead := func(id string) bool { return o.get(id).status == events.Failed || o.get(id).status == events.Stopped }
		if d.workable && !d.skipped && !slices.ContainsFunc(d.deps, dead) {
			back = append(back, d)
		}
	}
	if len(back) == 0 || s.id == events.FinalID {
		o.tryAgain(s)
		return
	}
	s.complaints++
	o.inputs++
	if s.complaints > o.rules.InputRounds || o.inputs > max(32, 4*len(o.graph())) {
		o.failed(s)
		return
	}
	ended := func(s *ostep) bool { return s.status == events.Failed || s.status == events.Stopped }
	o.again(slices.DeleteFunc(o.dependents(back), ended))
}

// again resets steps.
func (o *oracle) again(steps []*ostep) {
	for _, s := range steps {
		o.cut(s)
		s.status, s.backoff, s.given, s.skipped, s.attempts, s.mode, s.kept = events.Created, false, false, false, 0, "", nil
		s.standing = false
	}
}

// cut ends a live run and a question from outside.
func (o *oracle) cut(s *ostep) {
	if s.open {
		s.open, s.closing = false, s.run
	}
	s.request = ""
}

func (o *oracle) stopStep(s *ostep) {
	o.cut(s)
	s.backoff, s.status = false, events.Stopped
}

func (o *oracle) failed(s *ostep) {
	if o.descend(s) {
		return
	}
	o.cut(s)
	s.backoff, s.status = false, events.Failed
	switch {
	case s.id == events.PlanID || s.id == events.FinalID:
		o.end(events.Failed)
	case o.rules.FailurePolicy == events.Continue:
		o.strand(s)
	case o.rules.FailurePolicy == events.Replan && (o.rounds < o.rules.MaxPlanRounds || unended(o.steps[planner])):
		o.replan = !unended(o.steps[planner])
	default:
		o.end(events.Failed)
	}
}

// strand stops everything that waits for a step, except steps that have their result already.
func (o *oracle) strand(s *ostep) {
	for _, d := range o.graph() {
		if unended(d) && slices.Contains(d.deps, s.id) {
			o.stopStep(d)
			o.strand(d)
		}
	}
}

func (o *oracle) end(status events.Status) {
	o.status, o.replan = status, false
	for _, s := range o.steps {
		if unended(s) {
			o.stopStep(s)
		}
	}
}

func (o *oracle) timer(id string) {
	kind, of, number := parseTimer(id)
	s := o.get(of)
	switch {
	case kind == "deadline" && number == o.epoch && !o.over():
		o.end(events.Failed)
	case kind == "fence" && s != nil && s.fence != 0 && s.fence == number:
		s.fence = 0
	case o.over() || s == nil:
	case kind == "retry" && s.backoff && s.run == number:
		s.backoff = false
	case kind == "timeout" && s.open && s.run == number && s.status == events.Running && s.timeout:
		o.cut(s)
		o.tryAgain(s)
	}
}

func (o *oracle) closed(request string, d *events.InputClosed) {
	s := o.open[request]
	o.open[request] = nil
	if s == nil {
		return
	}
	if s.request != request || o.over() {
		return
	}
	s.request = ""
	if d.Action == events.Cancelled || d.Action == events.Expired && o.asking[request] != events.InputTimer && len(d.Answer) == 0 {
		o.failed(s)
	}
}

func (o *oracle) target(id string, run int) *ostep {
	for _, s := range o.graph() {
		if s.id == id && (run == 0 || run == s.run) {
			return s
		}
	}
	return nil
}

func (o *oracle) stop(d *events.StopRequested, to events.Status) {
	s := o.target(d.SubJob, d.Run)
	switch {
	case o.over() || d.SubJob != "" && (s == nil || !unended(s)):
	case d.SubJob == "":
		o.end(to)
	default:
		o.stopStep(s)
		s.status = to
		if d.Only {
			o.strand(s)
		} else {
			o.end(to)
		}
	}
}

// revive brings an ended job back.
func (o *oracle) revive() {
	if !o.over() {
		return
	}
	o.epoch++
	o.status = events.Running
	if o.version == 0 {
		o.status = events.Planning
	}
	if p := o.steps[planner]; p.status == events.Failed || p.status == events.Stopped {
		p.status, p.attempts = events.Created, 0
	}
}

func (o *oracle) unfinal() {
	if f := o.get(events.FinalID); f != nil && unended(f) {
		o.stopStep(f)
	}
}

func (o *oracle) recover(d *events.RecoverRequested) {
	from := o.target(d.From, 0)
	if o.status != events.Failed && o.status != events.Stopped || d.From != "" && (from == nil || !from.workable) {
		return
	}
	roots := o.with(events.Failed, events.Stopped)
	if from != nil && !slices.Contains(roots, from) {
		roots = append(roots, from)
	}
	o.revive()
	o.again(o.dependents(roots))
}

// startable returns the roots and their dependents, except those that a dead predecessor outside of them keeps from ever starting.
func (o *oracle) startable(s *ostep) []*ostep {
	roots := []*ostep{s}
	if o.over() {
		for _, r := range o.with(events.Stopped) {
			if r != s {
				roots = append(roots, r)
			}
		}
	}
	all := o.dependents(roots)
	var dead []*ostep
	for grown := true; grown; {
		grown = false
		for _, r := range all {
			for _, id := range r.deps {
				d := o.get(id)
				never := !slices.Contains(all, d) && (d.status == events.Failed || d.status == events.Stopped)
				if !slices.Contains(dead, r) && (never || slices.Contains(dead, d)) {
					dead, grown = append(dead, r), true
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(r *ostep) bool { return slices.Contains(dead, r) })
}

func (o *oracle) retryByHand(d *events.RetryRequested) {
	s := o.target(d.SubJob, d.Run)
	if s == nil || s.status != events.Failed && s.status != events.Stopped {
		return
	}
	if all := o.startable(s); slices.Contains(all, s) {
		o.unfinal()
		o.revive()
		o.again(all)
	}
}

func (o *oracle) rerunByHand(d *events.RerunRequested) {
	s := o.target(d.SubJob, d.Run)
	var edit struct{ Expert string }
	if s == nil || len(d.Edit) > 0 && json.Unmarshal(d.Edit, &edit) != nil || edit.Expert != "" && !events.ValidID(edit.Expert) || edit.Expert == "" && !s.workable {
		return
	}
	if all := o.startable(s); slices.Contains(all, s) {
		o.unfinal()
		o.revive()
		o.again(all)
		s.workable = true
	}
}

// acceptable judges a plan: a graph of known steps and new ones.
func (o *oracle) acceptable(p *events.Plan, whole bool) bool {
	finished := map[string]bool{}
	if whole {
		for _, s := range o.with(events.Finished) {
			finished[s.id] = true
		}
	}
	if len(p.SubJobs) == 0 || len(p.SubJobs) > o.rules.MaxSteps {
		return false
	}
	in := map[string]*events.SubJob{}
	for i := range p.SubJobs {
		in[p.SubJobs[i].ID] = &p.SubJobs[i]
	}
	var circle func(id string, path []string) bool
	circle = func(id string, path []string) bool {
		if slices.Contains(path, id) {
			return true
		}
		var deps []string
		if s := in[id]; s != nil {
			deps = s.Dependencies
		} else if !finished[id] {
			return true
		} else {
			for _, d := range o.get(id).deps {
				if in[d] != nil || finished[d] {
					deps = append(deps, d)
				}
			}
		}
		for _, d := range deps {
			if circle(d, append(path, id)) {
				return true
			}
		}
		return false
	}
	for _, s := range p.SubJobs {
		if circle(s.ID, nil) {
			return false
		}
		c, _ := ParseCondition(s.When)
		if was := o.get(s.ID); whole && o.rules.Version >= 4 && was != nil && was.stays(&s) {
			continue
		}
		for _, read := range c.operands() {
			if d := o.get(read.subjob); whole && finished[read.subjob] && !d.skipped {
				if _, kept := d.kept[read.path]; !kept {
					return false
				}
			}
		}
	}
	return true
}

func text(s *events.SubJob) string {
	return strings.Join([]string{s.Goal, s.Expert, s.When}, "\x00")
}

// stays reports whether a plan leaves a step unchanged.
func (s *ostep) stays(in *events.SubJob) bool {
	return s.status == events.Finished || unended(s) && s.text == text(in) && slices.Equal(s.deps, in.Dependencies) && !in.Done()
}

func (o *oracle) describe(s *ostep, p *events.SubJob) {
	s.status, s.base, s.text, s.workable = events.Created, p.ID, text(p), p.Expert != ""
	s.when, _ = ParseCondition(p.When)
	s.retries, s.timeout = o.rules.Retries, p.Timeout != nil
}

func (o *oracle) install(p *events.Plan) {
	o.version++
	stays, listed := map[string]bool{}, map[string]bool{}
	var reach func(id string)
	reach = func(id string) {
		if s := o.get(id); s != nil && s.status == events.Finished && !stays[id] && !listed[id] {
			stays[id] = true
			for _, d := range s.deps {
				reach(d)
			}
		}
	}
	for _, s := range p.SubJobs {
		listed[s.ID] = true
	}
	for _, s := range p.SubJobs {
		for _, d := range s.Dependencies {
			if !listed[d] {
				reach(d)
			}
		}
	}
	fresh := map[string]bool{}
	for i := range p.SubJobs {
		in := &p.SubJobs[i]
		s := o.get(in.ID)
		if s != nil && s.stays(in) {
			if s.status != events.Finished {
				s.timeout = in.Timeout != nil
			}
			continue
		}
		if s == nil {
			s = &ostep{id: in.ID}
			o.steps = append(o.steps, s)
		} else {
			o.again([]*ostep{s})
		}
		fresh[s.id] = true
		o.describe(s, in)
		s.life, s.replaced = o.rules.LifeCycle, nil
	}
	for _, s := range o.graph() {
		if !listed[s.id] && !stays[s.id] {
			o.cut(s)
			s.status = events.Legacy
		}
	}
	for _, s := range o.graph() {
		s.deps = slices.DeleteFunc(slices.Clone(s.deps), func(id string) bool { return o.get(id).status == events.Legacy })
	}
	for _, in := range p.SubJobs {
		o.get(in.ID).deps = in.Dependencies
	}
	o.arrive(p, "", fresh)
}

func (o *oracle) arrive(p *events.Plan, scope string, fresh map[string]bool) {
	for i := range p.SubJobs {
		if s := o.get(scope + p.SubJobs[i].ID); p.SubJobs[i].Done() && fresh[s.id] {
			s.given = true
			o.finish(s, p.SubJobs[i].ExecutionRes)
		}
	}
}

func (o *oracle) splice(x *ostep, p *events.Plan) {
	o.version++
	scope := fmt.Sprintf("%s~%d~", x.id, x.run)
	fresh, feeds := map[string]bool{}, map[string]bool{}
	for i := range p.SubJobs {
		in := &p.SubJobs[i]
		s := &ostep{id: scope + in.ID, scope: scope, life: x.life}
		o.describe(s, in)
		s.text = ""
		for _, d := range in.Dependencies {
			s.deps = append(s.deps, scope+d)
			feeds[scope+d] = true
		}
		if len(s.deps) == 0 {
			s.deps = slices.Clone(x.deps)
		}
		fresh[s.id] = true
		o.steps = append(o.steps, s)
	}
	for i := range p.SubJobs {
		if id := scope + p.SubJobs[i].ID; !feeds[id] {
			x.replaced = append(x.replaced, id)
		}
	}
	for _, s := range o.graph() {
		if slices.Contains(s.deps, x.id) {
			s.deps = append(slices.DeleteFunc(slices.Clone(s.deps), func(id string) bool { return id == x.id }), x.replaced...)
		}
	}
	x.status = events.Legacy
	o.arrive(p, scope, fresh)
}

// settle starts everything that can start, and updates the status of the job.
func (o *oracle) settle() {
	if o.over() {
		return
	}
	o.start()
	if o.replan && !slices.ContainsFunc(o.graph(), func(s *ostep) bool { return s.open }) {
		o.replan = false
		o.rounds++
		p := o.steps[planner]
		p.status, p.mode, p.attempts = events.Created, events.WorkReplan, 0
		o.start()
	}
	switch p := o.steps[planner]; {
	case unended(p) || o.version == 0:
		if p.request != "" {
			o.status = events.Waiting
		} else if o.status != events.Created {
			o.status = events.Planning
		}
	case len(o.with(events.Created, events.Ready, events.Running, events.Waiting)) == 0:
		o.finalize()
	case o.onlyPeople():
		o.status = events.Waiting
	default:
		o.status = events.Running
	}
}

// onlyPeople reports whether only answers of people would let the job continue.
func (o *oracle) onlyPeople() bool {
	asked := false
	for _, s := range o.graph() {
		asked = asked || s.request != ""
		if s.status == events.Ready || s.status == events.Running || s.status == events.Waiting && s.request == "" ||
			s.status == events.Created && (s.closing != 0 || s.fence != 0) {
			return false
		}
	}
	return asked
}

func (o *oracle) finalize() {
	switch {
	case len(o.with(events.Failed)) > 0:
		o.end(events.Failed)
		return
	case len(o.with(events.Stopped)) > 0:
		o.end(events.Stopped)
		return
	case finalExpert(o.rules.Finalize) == "" && !o.worded():
		o.end(events.Finished)
		return
	}
	f := o.get(events.FinalID)
	if f == nil {
		f = &ostep{id: events.FinalID, status: events.Created, mode: events.WorkFinalize, workable: true, retries: o.rules.Retries}
		o.steps = append(o.steps, f)
	}
	if f.status == events.Finished || f.status == events.Failed || f.status == events.Stopped {
		if last := o.lastResult(); f.status == events.Finished && f.done > last {
			o.end(events.Finished)
			return
		}
		o.again([]*ostep{f})
		f.mode = events.WorkFinalize
	}
	o.status = events.Finalizing
	o.start()
	if f.request != "" {
		o.status = events.Waiting
	}
}

func (o *oracle) lastResult() uint64 {
	var last uint64
	for _, s := range o.with(events.Finished) {
		if !s.skipped {
			last = max(last, s.done)
		}
	}
	return last
}

// start looks at every node until nothing changes any more.
func (o *oracle) start() {
	for o.pass() {
	}
	for _, s := range o.graph() {
		if s.status == events.Ready && !s.open && o.free(s) && o.places() {
			s.run++
			s.open = true
		}
	}
}

func (o *oracle) pass() (changed bool) {
	for _, s := range o.steps {
		if !unended(s) || s.open || !o.free(s) {
			continue
		}
		switch step := s.id != events.PlanID && s.id != events.FinalID; {
		case step && s.status == events.Created && o.skip(s):
			s.skipped = true
			o.finish(s, nil)
			s.kept = map[string]json.RawMessage{}
			changed = true
		case step && s.status != events.Ready:
			s.status = events.Ready
			changed = true
		case !step:
			s.status, s.run, s.open = events.Ready, s.run+1, true
		}
	}
	return changed
}

// free reports whether nothing but a free place is missing for the next run of a node.
func (o *oracle) free(s *ostep) bool {
	if s.closing != 0 || s.fence != 0 || s.backoff || s.request != "" {
		return false
	}
	if s.id == events.PlanID || s.id == events.FinalID {
		return true
	}
	for _, id := range s.deps {
		if o.get(id).status != events.Finished {
			return false
		}
	}
	return !o.replan && !unended(o.steps[planner])
}

func (o *oracle) places() bool {
	open := 0
	for _, s := range o.graph() {
		if s.open {
			open++
		}
	}
	return o.rules.Concurrency == 0 || open < o.rules.Concurrency
}

func (o *oracle) skip(s *ostep) bool {
	all := len(s.deps) > 0
	for _, id := range s.deps {
		all = all && o.get(id).skipped
	}
	return all || s.when != nil && !s.when.holds(func(name, path string) any {
		for _, d := range o.means(s, name) {
			if raw, ok := d.kept[path]; ok && raw != nil && d.status == events.Finished {
				return scalar(raw)
			}
		}
		return nil
	})
}

// checkOracle compares the two cores: the job's status, every node's status, every open run.
func (w *simulation) checkOracle() {
	r := w.log[0].Data.(*events.JobRequested)
	o := &oracle{rules: r.Rules, status: events.Created, epoch: 1, rounds: 1, open: map[string]*ostep{}, asking: map[string]events.InputKind{}}
	o.steps = []*ostep{{id: events.PlanID, status: events.Created, mode: events.WorkPlan, workable: true, retries: r.Rules.Retries}}
	o.settle()
	for i := range w.log[1:] {
		o.seq = w.log[i+1].Seq
		o.apply(&w.log[i+1])
		o.settle()
	}
	want, got := []string{string(o.status)}, []string{string(w.truth.Status)}
	for _, s := range o.steps {
		want = append(want, fmt.Sprintf("%s %s run %d open %t", s.id, s.status, s.run, s.open))
	}
	for _, n := range w.truth.dag.nodes {
		got = append(got, fmt.Sprintf("%s %s run %d open %t", n.ID, n.Status, n.Run, n.Open))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("the cores disagree after event %d (-oracle +core):\n%s\n%s", len(w.log), diff, w.history())
	}
}
