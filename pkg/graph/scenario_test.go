package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves C18
// proves C28
// proves C-weakness-9
// proves C20
func TestDiamondRunsByDependencyAndFinishesByItself(t *testing.T) {
	g := start(t, nil)
	g.wantOpen("~plan/1")
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"), sub("d", "b", "c"))
	g.wantOpen("a/1")
	g.succeed("a")
	g.wantOpen("b/1", "c/1")
	g.succeed("b")
	g.wantOpen("c/1")
	g.succeed("c", "d")
	g.wantStatus(events.Finished)
	musttest.Equal(t, []string{"d"}, g.job.State.Tails)
	if len(g.ends) != 1 {
		t.Errorf("ended %d times", len(g.ends))
	}
}

// Chat2Graph fault 1: a failed step fed its error to its dependents, which ended FINISHED.
//
// proves C26
// proves C-weakness-1
func TestFailureStopsTheGraph(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 0 })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "b"), sub("x"))
	g.outcome("a", events.ExecutionError, "no")
	g.wantStatus(events.Failed)
	g.wantNodes(map[string]events.Status{"a": events.Failed, "b": events.Stopped, "c": events.Stopped, "x": events.Stopped})
	g.wantOpen()
}

// Chat2Graph fault 2: the predecessor kept its old result, the lesson was lost, and the loop crashed.
//
// proves C22
// proves C-weakness-2
// proves C-weakness-2-lesson
func TestInputDataErrorReallyRunsPredecessorsAgainWithTheLesson(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"), sub("c", "a", "b"), sub("d", "a"))
	g.succeed("a", "b")
	g.wantOpen("c/1", "d/1")
	g.outcome("c", events.InputDataError, "a and b disagree")
	complaint := g.last(events.KindSubJobReported)
	g.wantOpen("a/2", "b/2")
	for _, run := range []string{"a/2", "b/2"} {
		if diff := cmp.Diff([]uint64{complaint}, g.orders[run].Lessons); diff != "" {
			t.Errorf("%s is not told the complaint: %s", run, diff)
		}
	}
	g.wantNodes(map[string]events.Status{"c": events.Created, "d": events.Created})
	g.succeed("a")
	g.wantOpen("b/2", "d/2")
	g.succeed("b", "c", "d")
	g.wantStatus(events.Finished)
	if v := g.job.dag.find("a").Versions; len(v) != 1 || v[0].Reason != "upstream_rerun" {
		t.Errorf("versions of a: %+v", v)
	}
}

// Chat2Graph fault 2, second half: without a predecessor it was re-run for ever.
//
// proves C-weakness-2
func TestInputDataErrorWithoutPredecessorIsAnExecutionError(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.RetryDelay = 0 })
	g.plan("~plan", sub("a"))
	for range 4 {
		g.outcome("a", events.InputDataError, "no data")
	}
	g.wantStatus(events.Failed)
	g.wantOpen()
}

func TestInputRoundsAreBoundedAndNeverReset(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"))
	for range 2 {
		g.succeed("a")
		g.outcome("b", events.InputDataError, "bad")
	}
	g.succeed("a")
	g.outcome("b", events.InputDataError, "bad")
	g.wantStatus(events.Failed)
	if code := g.job.State.Error.Code; code != events.CodeInputRounds {
		t.Errorf("code %s", code)
	}
}

// Of two complaints about the same input, the second one starts no further run: the next run gets its lesson.
// proves C-weakness-10-complaints
func TestLateComplaintAboutReplacedInputsOnlyAddsItsLesson(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Version, r.RetryDelay = lateLessonsSince, 0 })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"))
	g.succeed("a")
	g.tell(events.KindSubJobStarted, "c", 1, "", &events.SubJobStarted{})
	delete(g.orders, "c/1") // claimed: its worker is at work
	g.outcome("b", events.InputDataError, "first")
	first := g.last(events.KindSubJobReported)
	g.wantOpen("a/2")
	g.tell(events.KindSubJobReported, "c", 1, "", &events.SubJobReported{Outcome: events.InputDataError, Lesson: "second"})
	second := g.last(events.KindSubJobReported)
	g.wantOpen("a/2")
	g.outcome("a", events.ExecutionError, "third")
	g.wantOpen("a/3")
	if diff := cmp.Diff([]uint64{first, second, g.last(events.KindSubJobReported)}, g.orders["a/3"].Lessons); diff != "" {
		t.Errorf("a is told other lessons: %s", diff)
	}
	g.succeed("a")
	g.wantOpen("b/2", "c/2")
	g.succeed("b", "c")
	g.wantStatus(events.Finished)
}

// proves C-weakness-10-complaints
func TestAPredecessorThatHasNotBegunAgainHearsEveryComplaint(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("p"), sub("a", "p"), sub("b", "p", "a"), sub("c", "a"))
	g.succeed("p", "a")
	g.tell(events.KindSubJobStarted, "c", 1, "", &events.SubJobStarted{})
	delete(g.orders, "c/1")
	g.outcome("b", events.InputDataError, "p and a disagree")
	first := g.last(events.KindSubJobReported)
	g.wantOpen("p/2")
	g.tell(events.KindSubJobReported, "c", 1, "", &events.SubJobReported{Outcome: events.InputDataError, Lesson: "a is torn"})
	second := g.last(events.KindSubJobReported)
	g.succeed("p")
	g.wantOpen("a/2")
	if diff := cmp.Diff([]uint64{first, second}, g.orders["a/2"].Lessons); diff != "" {
		t.Errorf("a is told other lessons: %s", diff)
	}
	g.succeed("a", "b", "c")
	g.wantStatus(events.Finished)
}

// proves C21
// proves C-weakness-2-lesson
func TestExecutionErrorRetriesWithBackoffAndAccumulatedLessons(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	for attempt := 1; attempt <= 3; attempt++ {
		g.outcome("a", events.ExecutionError, "again")
		g.wantOpen()
		if g.status("a") != events.Waiting {
			t.Fatalf("a is %s", g.status("a"))
		}
		g.pass(time.Minute)
	}
	g.wantOpen("a/4")
	if o := g.orders["a/4"]; len(o.Lessons) != 3 || o.Attempt != 4 {
		t.Errorf("lessons %v, attempt %d", o.Lessons, o.Attempt)
	}
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// proves O-weakness-9
func TestWhoMayNotIsNotTriedAgain(t *testing.T) {
	for version, want := range map[int]events.Status{permitsSince: events.Failed, permitsSince - 1: events.Running} {
		g := start(t, func(r *events.Rules) { r.Version = version })
		g.plan("~plan", sub("a"), sub("b", "a"))
		f := &events.Fault{Code: events.CodeNotPermitted, Message: "the key is wrong"}
		g.report("a", events.SubJobReported{Outcome: events.ExecutionError, Error: f})
		g.wantStatus(want)
		if want == events.Running {
			continue // A log of older rules folds as it did.
		}
		g.wantNodes(map[string]events.Status{"a": events.Failed, "b": events.Stopped})
		if g.job.State.Error.Code != events.CodeNotPermitted {
			t.Error(g.job.State.Error)
		}
		g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{}) // A person has corrected it.
		g.wantOpen("a/2")
		g.succeed("a", "b")
		g.wantStatus(events.Finished)
	}
}

// Chat2Graph fault 3 and 6: a split crashed, and only the first and the last node of the replacement were linked.
//
// proves C23
// proves C24
// proves C-weakness-6
func TestSplitIsSplicedWithEveryHeadAndEveryTail(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("p"), sub("q"), sub("x", "p", "q"), sub("s", "x"), sub("t", "x"))
	g.succeed("p", "q")
	g.outcome("x", events.TooComplicated, "too big")
	g.wantOpen("x/2")
	if o := g.orders["x/2"]; o.Kind != events.WorkSplit || o.Pool != events.PlannerPool {
		t.Errorf("split order %+v", o)
	}
	g.plan("x", sub("l"), sub("r"))
	g.wantOpen("x~2~l/1", "x~2~r/1")
	if in := g.orders["x~2~l/1"].Inputs; len(in) != 2 {
		t.Errorf("head has inputs %+v", in)
	}
	g.wantNodes(map[string]events.Status{"x": events.Legacy})
	g.succeed("x~2~l")
	g.wantOpen("x~2~r/1")
	g.succeed("x~2~r")
	g.wantOpen("s/1", "t/1")
	if in := g.orders["s/1"].Inputs; len(in) != 2 {
		t.Errorf("successor has inputs %+v", in)
	}
	g.succeed("s", "t")
	g.wantStatus(events.Finished)
}

// Chat2Graph fault 3: a life cycle of 0 was read as 3.
//
// proves C-weakness-3
func TestLifeCycleOfZeroFailsWithAClearReason(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.LifeCycle = 0 })
	g.plan("~plan", sub("a"))
	g.outcome("a", events.TooComplicated, "too big")
	g.wantStatus(events.Failed)
	if code := g.job.State.Error.Code; code != events.CodeLifeCycle {
		t.Errorf("code %s", code)
	}
}

func TestChildrenInheritTheLifeCycle(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.LifeCycle = 2 })
	g.plan("~plan", sub("a"))
	g.outcome("a", events.TooComplicated, "")
	g.plan("a", sub("b"))
	g.outcome("a~2~b", events.TooComplicated, "")
	g.plan("a~2~b", sub("c"))
	g.outcome("a~2~b~2~c", events.TooComplicated, "")
	g.wantStatus(events.Failed)
}

func TestEmptyOrCyclicSplitIsAnExecutionErrorOfThePlanningRun(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.outcome("a", events.TooComplicated, "")
	g.plan("a")
	g.pass(time.Minute)
	g.plan("a", sub("b", "c"), sub("c", "b"))
	g.pass(time.Minute)
	g.wantOpen("a/4")
	g.plan("a", sub("b"))
	g.succeed("a~4~b")
	g.wantStatus(events.Finished)
}

// Chat2Graph fault 4: pending steps started after a stop, and the running one's result was lost.
//
// proves C25
// proves C-weakness-4
// proves C-weakness-4-late
func TestStopEndsEverythingAndKeepsALateResultAsSuch(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"))
	g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
	delete(g.orders, "a/1")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{Reason: "enough"})
	g.wantStatus(events.Stopped)
	g.wantOpen()
	if g.closes != 2 {
		t.Errorf("%d runs were closed, want 2", g.closes)
	}
	g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`1`)})
	g.wantNodes(map[string]events.Status{"a": events.Stopped, "b": events.Stopped, "c": events.Stopped})
	if g.job.dag.find("a").Late == 0 {
		t.Error("the late report was not kept")
	}
}

// Chat2Graph fault 5: stop and recover at once gave two executors.
//
// proves C27
// proves C-weakness-5
func TestRecoverWaitsForTheFenceOfAClaimedRun(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
	delete(g.orders, "a/1")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("b/2")
	g.pass(20 * time.Second)
	g.wantOpen("b/2")
	g.pass(20 * time.Second)
	g.wantOpen("a/2", "b/2")
	g.succeed("a", "b")
	g.wantStatus(events.Finished)
}

// The subject of a fact may name a pool. Only the workers of that pool may publish there, and their facts count only for its runs.
func TestAPoolReportsOnItsOwnRuns(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	state := func(subjob, pool string, kind events.Kind, data any) Verdict {
		e := g.event(kind, subjob, 1, "", data)
		e.Pool = pool
		g.log = append(g.log, e)
		effect := g.job.Step(e)
		g.moves = append(g.moves, g.job.Transitions()...)
		g.deliver()
		return effect.Verdict
	}
	report := &events.SubJobReported{Outcome: events.Success, Output: []byte(`1`)}
	for _, got := range []Verdict{
		state("a", "other", events.KindSubJobReported, report), state("a", "other", events.KindSubJobStarted, &events.SubJobStarted{}),
		state("a", "other", events.KindInputRequested, &events.InputRequested{Request: "q", Kind: events.InputClarification}),
	} {
		if got != Ignored {
			t.Errorf("a fact of another pool is %s", got)
		}
	}
	g.wantOpen("a/1", "b/1")
	asked := g.event(events.KindSubJobReported, events.PlanID+"~ask", 1, "", report)
	asked.Pool = "other"
	g.log = append(g.log, asked)
	if effect := g.job.Step(asked); effect.Verdict != Ignored || !strings.Contains(effect.Reason, "the planner reads what it says") {
		t.Errorf("what an expert has told the planner: %+v", effect)
	}
	delete(g.orders, "a/1")
	if got := state("a", events.DefaultPool, events.KindSubJobReported, report); got != Applied {
		t.Errorf("the report of the pool is %s", got)
	}
	g.succeed("b")
	g.wantStatus(events.Finished)
}

// A worker may name any job, SubJob, and kind on the subjects of its pool: what it says about runs of others need not be understood,
// or one message would stop any job for good.
func TestAFactOfAnotherPoolNeedNotBeUnderstood(t *testing.T) {
	for _, c := range []struct {
		subjob, pool string
		want         Verdict
	}{
		{"a", "other", Ignored},
		{"gone", "other", Ignored},
		{"gone", events.DefaultPool, Ignored},
		{events.PlanID, "other", Ignored},
		{"a", events.DefaultPool, Poisoned},
		{"a", "", Poisoned},
	} {
		for _, kind := range []events.Kind{events.KindSubJobStarted, events.KindSubJobProgressed, events.KindSubJobReported, events.KindInputRequested} {
			g := start(t, nil)
			g.plan("~plan", sub("a"))
			e := g.event(kind, c.subjob, 1, "", nil)
			e.Pool, e.Fault = c.pool, fault(events.CodeMustUnderstand, "unknown kind")
			got := g.job.Step(e)
			if got.Verdict != c.want {
				t.Errorf("%s about %s by pool %q is %s, want %s: %s", kind, c.subjob, c.pool, got.Verdict, c.want, got.Reason)
			}
			if got.Verdict == Ignored { // It is used up, so a fold meets it, too.
				g.log = append(g.log, e)
			}
		}
	}
}

// The records of a run are on the subject of its pool, so a process that closes a run or executes a later one must know that pool.
func TestARunBelongsToThePoolThatItWasGivenTo(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	move := func(pool string) []Command {
		t.Helper()
		g.log = append(g.log, g.event(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"x","pool":"` + pool + `"}`)}))
		g.job.Step(g.log[len(g.log)-1])
		g.moves = append(g.moves, g.job.Transitions()...)
		text := musttest.JSON(t, g.job)
		read := &Job{}
		musttest.Decode(t, text, read)
		return read.Pending() // A scheduler that starts here publishes the same commands as this one.
	}
	closing := func(commands []Command) string {
		i := slices.IndexFunc(commands, func(c Command) bool { return c.Kind == CloseRun })
		if i < 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", commands[i].Run, commands[i].Pool)
	}
	former := func() []events.Tenure { return g.orders["a/"+strconv.Itoa(g.job.dag.find("a").Run)].Former }
	if got := closing(move("gpu")); got != "1 "+events.DefaultPool {
		t.Errorf("it closes %q", got)
	}
	if got := closing(move("tpu")); got != "1 "+events.DefaultPool {
		t.Errorf("moved again before the run was closed, it closes %q", got)
	}
	g.deliver()
	g.wantOpen("a/2", "b/1")
	musttest.Equal(t, []events.Tenure{{Pool: events.DefaultPool, Run: 1}}, former())
	if got := closing(move("tpu")); got != "2 tpu" {
		t.Errorf("in the same pool it closes %q", got)
	}
	g.deliver()
	if got := closing(move(events.DefaultPool)); got != "3 tpu" {
		t.Errorf("moved back it closes %q", got)
	}
	g.deliver()
	musttest.Equal(t, []events.Tenure{{Pool: events.DefaultPool, Run: 1}, {Pool: "tpu", Run: 3}}, former())
	n := g.job.dag.find("a")
	for number, want := range map[int]string{1: events.DefaultPool, 2: "tpu", 3: "tpu", 4: events.DefaultPool} {
		if got := n.PoolOf(number); got != want {
			t.Errorf("run %d belongs to %s", number, got)
		}
	}
	g.succeed("a", "b")
	g.wantStatus(events.Finished)
}

func TestRecoverNeedNotWaitWhenTheStoppedRunHasReported(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
	delete(g.orders, "a/1")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.ExecutionError, Error: fault(events.CodeCancelled, "killed")})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("a/2")
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// proves C27
// proves F-weakness-issue-43
func TestRecoverKeepsFinishedWork(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 0 })
	g.plan("~plan", sub("a"), sub("b", "a"))
	g.succeed("a")
	g.outcome("b", events.ExecutionError, "")
	g.wantStatus(events.Failed)
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("b/2")
	g.succeed("b")
	g.wantStatus(events.Finished)
}

// proves C-weakness-4
func TestStopDuringPlanningThenRecoverPlansAgain(t *testing.T) {
	g := start(t, nil)
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.wantStatus(events.Stopped)
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// proves V19
// proves C-weakness-1
// proves F10
func TestContinuePolicyRunsIndependentBranchesAndEndsFailed(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Continue })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"), sub("d", "c"))
	g.outcome("a", events.ExecutionError, "")
	g.wantNodes(map[string]events.Status{"b": events.Stopped})
	g.succeed("c", "d")
	g.wantStatus(events.Failed)
	if diff := cmp.Diff([]string{"d"}, g.job.State.Tails); diff != "" {
		t.Errorf("partial result: %s", diff)
	}
}

// proves O-weakness-7
func TestReplanPolicyKeepsFinishedWorkAndWaitsForRunningWork(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"), sub("d", "b", "c"))
	g.succeed("a")
	g.outcome("b", events.ExecutionError, "cannot")
	g.wantOpen("c/1")
	g.succeed("c")
	g.wantOpen("~plan/2")
	if o := g.orders["~plan/2"]; o.Kind != events.WorkReplan || len(o.Finished) != 2 {
		t.Errorf("replan order %+v", o)
	}
	g.plan("~plan", sub("a"), sub("c", "a"), sub("e", "a", "c"))
	g.wantOpen("e/1")
	g.wantNodes(map[string]events.Status{"b": events.Legacy, "d": events.Legacy, "c": events.Finished})
	g.succeed("e")
	g.wantStatus(events.Finished)
}

func TestPlanRejectedFailsTheJobWithGuidance(t *testing.T) {
	g := start(t, nil)
	g.tell(events.KindPlanRejected, "~plan", g.take("~plan"), "", &events.PlanRejected{Faults: events.Faults{{Code: events.CodeNoPlanner, Message: "no model", Hint: "give a plan"}}})
	g.wantStatus(events.Failed)
	if f := g.job.State.Error; f.Code != events.CodeNoPlanner || f.Hint != "give a plan" {
		t.Errorf("error %+v", f)
	}
}

func TestAnsweredJobFinishesWithoutAGraph(t *testing.T) {
	g := start(t, nil)
	g.tell(events.KindJobAnswered, "~plan", g.take("~plan"), "", &events.JobAnswered{Answer: json.RawMessage(`"hello"`)})
	g.wantStatus(events.Finished)
}

func TestPlannerThatReportsInsteadOfPlanningIsRetried(t *testing.T) {
	g := start(t, nil)
	g.succeed("~plan")
	g.pass(time.Minute)
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// proves O-weakness-issue-986
func TestWaitingForAPersonGivesTheWorkBackAndResumesAsANewRun(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	run := g.take("a")
	g.tell(events.KindInputRequested, "a", run, "", &events.InputRequested{Request: "q1", Kind: events.InputApproval, Prompt: "may I?"})
	g.wantStatus(events.Waiting)
	g.wantOpen()
	g.tell(events.KindInputClosed, "", 0, "q1", &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`{"approved":true}`)})
	g.wantOpen("a/2")
	if o := g.orders["a/2"]; o.ResumeOf != 1 || len(o.Answers) != 1 {
		t.Errorf("resumed with %+v", o)
	}
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// proves F-weakness-issue-598-run
func TestExpiredQuestionFailsTheSubJobAndATimerResumesIt(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.FailurePolicy = events.Continue })
	g.plan("~plan", sub("a"), sub("b"))
	g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q1", Kind: events.InputForm, ExpiresIn: events.Duration(time.Hour)})
	g.tell(events.KindInputRequested, "b", g.take("b"), "", &events.InputRequested{Request: "q2", Kind: events.InputTimer, ExpiresIn: events.Duration(2 * time.Hour)})
	g.wantStatus(events.Waiting)
	g.pass(90 * time.Minute)
	g.wantNodes(map[string]events.Status{"a": events.Failed, "b": events.Waiting})
	g.pass(time.Hour)
	g.wantOpen("b/2")
	g.succeed("b")
	g.wantStatus(events.Failed)
}

func TestDeadlineFailsTheJob(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Deadline = events.Duration(time.Hour) })
	g.plan("~plan", sub("a"))
	g.pass(2 * time.Hour)
	g.wantStatus(events.Failed)
	if g.job.State.Error.Code != events.CodeDeadline {
		t.Error(g.job.State.Error)
	}
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("a/2")
}

// proves O-weakness-8-run
func TestRunThatTakesTooLongIsClosedAndRetriedBehindItsFence(t *testing.T) {
	g := start(t, nil)
	s := sub("a")
	minute := events.Duration(time.Minute)
	s.Timeout = &minute
	s.Dependencies = []string{"before"}
	g.plan("~plan", sub("before"), s, sub("beside"))
	g.succeed("before")
	g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
	delete(g.orders, "a/1")
	g.pass(66 * time.Second)
	g.wantOpen("beside/1") // The rest of the work continues.
	g.pass(time.Minute)
	g.wantOpen("a/2", "beside/1")
	if in := g.orders["a/2"].Inputs; len(in) != 1 || in[0].SubJob != "before" || in[0].Run != 1 {
		t.Errorf("what was done is lost: %+v", in)
	}
	g.succeed("a", "beside")
	g.wantStatus(events.Finished)
}

// proves O-weakness-issue-531
// proves O-weakness-issue-746
// proves O-weakness-issue-766
func TestAWaitForAMomentIsNoAttempt(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 0 })
	g.plan("~plan", sub("a"))
	for n := 1; n <= 5; n++ {
		if o := g.orders[fmt.Sprintf("a/%d", n)]; o.Attempt != 1 {
			t.Errorf("run %d is attempt %d", n, o.Attempt)
		}
		g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{
			Request: fmt.Sprint("q", n), Kind: events.InputTimer, ExpiresIn: events.Duration(time.Minute),
		})
		g.wantOpen()
		g.pass(2 * time.Minute)
		g.wantOpen(fmt.Sprintf("a/%d", n+1))
	}
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestBudgetEndsTheJob(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Tokens = 100 })
	g.plan("~plan", sub("a"), sub("b"))
	g.report("a", events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: 101}})
	g.wantStatus(events.Failed)
	if g.job.State.Error.Code != events.CodeBudget {
		t.Error(g.job.State.Error)
	}
}

func TestConcurrencyHoldsReadyWorkBack(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Concurrency = 2 })
	g.plan("~plan", sub("a"), sub("b"), sub("c"), sub("d", "a"))
	g.wantOpen("a/1", "b/1")
	g.succeed("a")
	g.wantOpen("b/1", "c/1")
	g.succeed("b", "c", "d")
	g.wantStatus(events.Finished)
}

func TestConditionSkipsAStepAndEverythingBehindItAlone(t *testing.T) {
	g := start(t, nil)
	b, c := sub("b", "a"), sub("c", "b")
	b.When = "a.ok == true"
	g.plan("~plan", sub("a"), b, c, sub("d", "a", "c"))
	if o := g.orders["a/1"]; len(o.Select) != 1 || o.Select[0] != "ok" {
		t.Errorf("select %v", o.Select)
	}
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":false}`)})
	g.wantNodes(map[string]events.Status{"b": events.Finished, "c": events.Finished})
	g.wantOpen("d/1")
	g.succeed("d")
	g.wantStatus(events.Finished)
}

func TestStepsThatArriveWithAResultAreFinished(t *testing.T) {
	g := start(t, nil)
	a := sub("a")
	a.ExecutionRes = json.RawMessage(`"known"`)
	g.plan("~plan", a, sub("b", "a"))
	g.wantOpen("b/1")
	if in := g.orders["b/1"].Inputs[0]; in.Run != 0 || in.Spec.ID != "a" {
		t.Errorf("input %+v", in)
	}
	g.succeed("b")
	g.wantStatus(events.Finished)
}

func TestRerunWithEditedInputReplacesTheResultAndEverythingDownstream(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"))
	g.succeed("a", "b", "c")
	g.wantStatus(events.Finished)
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a", Run: 1, Edit: json.RawMessage(`{"goal":"other"}`)})
	g.wantOpen("a/2")
	if len(g.orders["a/2"].Spec.Edits) != 1 {
		t.Error("the edit is not in the order")
	}
	g.succeed("a", "b")
	g.wantStatus(events.Finished)
	if len(g.ends) != 2 {
		t.Errorf("%d ends", len(g.ends))
	}
}

func TestRetryByHandRunsAFailedSubJobAndWhatItStopped(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 0 })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"))
	g.outcome("a", events.ExecutionError, "")
	g.wantStatus(events.Failed)
	g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "a"})
	g.wantOpen("a/2", "c/2")
	g.succeed("a", "b", "c")
	g.wantStatus(events.Finished)
}

func TestStopOfOneSubJobOnlyStopsItsDependents(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"))
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{SubJob: "a", Only: true})
	g.wantNodes(map[string]events.Status{"a": events.Stopped, "b": events.Stopped})
	g.succeed("c")
	g.wantStatus(events.Stopped)
}

func TestPlanEditKeepsFinishedAndUnchangedWork(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "a"))
	g.succeed("a")
	if e := g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 7, Plan: &events.Plan{SubJobs: []events.SubJob{sub("z")}}}); e.Verdict != Ignored {
		t.Errorf("a stale edit was %s", e.Verdict)
	}
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a"), sub("b", "a"), sub("e", "b")}}})
	g.wantOpen("b/1")
	g.wantNodes(map[string]events.Status{"c": events.Legacy})
	g.succeed("b", "e")
	g.wantStatus(events.Finished)
}

func TestFinalExpertMakesTheResult(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Finalize = "expert:writer" })
	g.plan("~plan", sub("a"), sub("b"))
	g.succeed("a", "b")
	g.wantStatus(events.Finalizing)
	g.wantOpen("~final/1")
	if o := g.orders["~final/1"]; o.Kind != events.WorkFinalize || len(o.Inputs) != 2 || o.Expert != "writer" {
		t.Errorf("order %+v", o)
	}
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

// worded begins a job of two steps whose result is put into words, and carries it out.
func worded(t *testing.T, finalize string) *engine {
	g := start(t, func(r *events.Rules) { r.Version = wordsSince })
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{
		Finalize: finalize, FinalPool: "own", Plan: &events.Plan{Title: "two", SubJobs: []events.SubJob{sub("a"), sub("b", "a")}},
	})
	g.succeed("a", "b")
	g.wantStatus(events.Finalizing)
	return g
}

// wantWriter checks which expert is asked in a run to write the result, and with how many inputs.
func (g *engine) wantWriter(run int, pool, expert string, attempt, inputs int) {
	g.t.Helper()
	id := fmt.Sprintf("~final/%d", run)
	g.wantOpen(id)
	o := g.orders[id]
	if o.Kind != events.WorkFinalize || o.Pool != pool || o.Expert != expert || o.Attempt != attempt || len(o.Inputs) != inputs || len(o.Steps) != 2 {
		g.t.Errorf("order %+v", o)
	}
}

func TestAPlannerPutsTheResultIntoWordsWithoutAnybodyAsking(t *testing.T) {
	g := worded(t, "summary")
	g.wantWriter(1, events.PlannerPool, events.PlannerExpert, 1, 2)
	if o := g.orders["~final/1"]; o.Finalize != "summary" || o.PlanSeq != 3 || o.Steps[1].ID != "b" || o.Steps[1].Deps[0] != "a" {
		t.Errorf("%+v", o)
	}
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestWordsFallFromTheModelToItsStandInToFixedOnesToTheTails(t *testing.T) {
	g := worded(t, "report:writer")
	g.outcome("~final", events.ExecutionError, "write it yourself")
	g.wantWriter(2, "own", "writer", 2, 2)
	g.outcome("~final", events.TooComplicated, "no")
	g.wantWriter(3, events.PlannerPool, events.PlannerExpert, 3, 2)
	g.outcome("~final", events.InputDataError, "no")
	g.wantStatus(events.Finished)
	g.wantNodes(map[string]events.Status{"~final": events.Failed})
	musttest.Equal(t, []string{"b"}, g.job.State.Tails)
}

func TestWhatTheStandInWroteGoesBackToThePlannerAndIsKeptWhateverComesOfThat(t *testing.T) {
	g := worded(t, "summary:writer")
	g.outcome("~final", events.ExecutionError, "write it yourself")
	g.succeed("~final")
	g.wantWriter(3, events.PlannerPool, events.PlannerExpert, 3, 3)
	if in := g.orders["~final/3"].Inputs[2]; in.SubJob != "~final" || in.Run != 2 {
		t.Errorf("%+v", in)
	}
	g.outcome("~final", events.ExecutionError, "")
	g.wantStatus(events.Finished)
	if in := g.job.finale.inputs(); len(in) != 1 || in[0].SubJob != "~final" || in[0].Run != 2 {
		t.Errorf("the result is %+v", in)
	}
}

func TestAJobThatIsDoneDoesNotFailForWhatItsWordsCost(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Version, r.Tokens, r.Finalize = wordsSince, 10, "summary:writer" })
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.report("~final", events.SubJobReported{Outcome: events.ExecutionError, Spent: events.Spent{Tokens: 11}})
	g.wantStatus(events.Finalizing)
	if o := g.orders["~final/2"]; o.Expert != events.PlannerExpert || o.Attempt != 3 {
		t.Errorf("%+v", o)
	}
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestAPlannerMaySayThatThereIsNoResult(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Version, r.Finalize = wordsSince, "tails" })
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Finalize: "none", Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}})
	g.succeed("a")
	g.wantStatus(events.Finished)
	if in := g.job.finale.inputs(); in != nil {
		t.Errorf("the result is %+v", in)
	}
}

func TestOlderRulesKnowNoWords(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Version = wordsSince - 1 })
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Finalize: "summary", Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}})
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestWordsAreFoundAgainAfterARerun(t *testing.T) {
	g := worded(t, "summary")
	g.outcome("~final", events.ExecutionError, "")
	g.succeed("~final")
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "b"})
	g.succeed("b")
	g.wantWriter(3, events.PlannerPool, events.PlannerExpert, 1, 2)
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.wantStatus(events.Stopped)
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.pass(time.Minute)
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestUnknownOutcomeIsAnExecutionErrorWithTheRawTextKept(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	e := g.event(events.KindSubJobReported, "a", g.take("a"), "", nil)
	e.Raw, e.Fault = []byte(`{"outcome":"MAYBE"}`), &events.Fault{Code: events.CodeMalformed, Message: "malformed"}
	g.log = append(g.log, e)
	g.job.Step(e)
	g.moves = append(g.moves, g.job.Transitions()...)
	g.deliver()
	g.wantNodes(map[string]events.Status{"a": events.Waiting})
}

func TestSecondReportOfARunChangesNothing(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"))
	g.succeed("a")
	if e := g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.ExecutionError}); e.Verdict != Ignored {
		t.Errorf("verdict %s", e.Verdict)
	}
	g.succeed("b")
	g.wantStatus(events.Finished)
}
