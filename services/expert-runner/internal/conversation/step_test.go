package conversation_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// steps makes steps from ids, each with the steps that it depends on.
func steps(list ...[]string) (all []conversation.Step) {
	for _, s := range list {
		step := conversation.Step{ID: s[0], Instruction: "Do " + s[0] + "."}
		if len(s) > 1 {
			step.After = s[1:]
		}
		all = append(all, step)
	}
	return all
}

// proves C-T5
// proves C31
func TestStepsAreTakenInTheOrderOfTheirDependencies(t *testing.T) {
	begin := conversation.Step{ID: "a", Instruction: "Do a.", After: []string{}}
	for name, test := range map[string]struct {
		steps []conversation.Step
		want  []int
	}{
		"one after another, as listed":  {steps([]string{"a"}, []string{"b"}, []string{"c"}), []int{0, 1, 2}},
		"a join waits for all branches": {append(steps([]string{"join", "left", "right"}, []string{"left", "a"}, []string{"right", "a"}), begin), []int{3, 1, 2, 0}},
		"five steps": {
			append(steps([]string{"e", "c", "d"}, []string{"d", "b"}, []string{"c", "a", "b"}, []string{"b", "a"}), begin),
			[]int{4, 3, 1, 2, 0},
		},
		"none": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, faults := conversation.Order(test.steps)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			musttest.Equal(t, test.want, got)
		})
	}
	if _, faults := conversation.Order(append(steps([]string{"b"}), begin)); len(faults) != 1 || faults[0].Error() != `workflow[0].id: nothing comes after step "b", and it is not the last` {
		t.Error(faults)
	}
}

func TestWhatAStepComesAfterIsTheOneBeforeUnlessItSaysSo(t *testing.T) {
	list := steps([]string{"a"}, []string{"b"}, []string{"c", "a", "b"})
	for i, want := range [][]string{nil, {"a"}, {"a", "b"}} {
		musttest.Equal(t, want, conversation.Preceding(list, i))
	}
	list[1].After = []string{}
	if got := conversation.Preceding(list, 1); len(got) != 0 {
		t.Error(got)
	}
}

func TestEveryFaultOfAWorkflowIsToldWithItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		steps []conversation.Step
		want  []string
	}{
		"a circle": {
			steps([]string{"a", "c"}, []string{"b", "a"}, []string{"c", "b"}, []string{"d", "d"}),
			[]string{"workflow[0].after: the steps wait for each other: a, b, c, d"},
		},
		"names": {
			append(steps([]string{"a"}, []string{"a"}, []string{"b", "x"}), conversation.Step{ID: "?", Instruction: " "}),
			[]string{
				`workflow[1].id: two steps are called "a"`,
				`workflow[2].after: there is no step "x"`,
				`workflow[3].id: "?" is no id`,
				"workflow[3].instruction: a step without an instruction",
			},
		},
		"too many": {make([]conversation.Step, conversation.MaxSteps+1), []string{"workflow: has 65 steps, at most 64 are taken"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := conversation.Order(test.steps)
			var got []string
			for _, f := range faults[:len(test.want)] {
				got = append(got, f.Error())
			}
			musttest.Equal(t, test.want, got)
		})
	}
}
