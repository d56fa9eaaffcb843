package main

import (
	"fmt"
	"io"
)

// weakness is a weakness of a predecessor system, and what goes wrong there. Numbers and letters are those of the
// inventory; "issue" with a number is a report of its users.
type weakness struct{ id, what string }

// weaknesses lists the ones that concern planning.
var weaknesses = []weakness{
	{"C-weakness-2", "a complaint about inputs is lost, and the job hangs"},
	{"C-weakness-3", "a step that is too complicated breaks the job; a life cycle of 0 becomes 3"},
	{"C-weakness-4", "a stop stops nothing that was not begun"},
	{"C-weakness-6", "a sub-graph is tied to its first and last step alone, and to one predecessor"},
	{"C-weakness-7", "an exception leaves the job running for ever; after a restart nothing goes on"},
	{"C-weakness-8", "half a second of waiting for each level of the graph"},
	{"C-weakness-9", "finished only when asked for; tokens and duration are always 0"},
	{"C-weakness-10", "no answer with tags, and provider errors that are not shown"},
	{"C-weakness-issue-19", "complex jobs are not decomposed"},
	{"C-weakness-issue-39", "after a crash the calls that were paid for are lost"},
	{"C-weakness-issue-80", "the planner does not know the state of the system"},
	{"C-weakness-issue-203", "provider errors are shown as an unexpected error"},
	{"C-weakness-issue-209", "decomposition empty after its retry when the model knows no tags"},
	{"C-weakness-issue-213", "provider errors are shown as an unexpected error"},
	{"V-weakness-3", "without a model for triage nothing is said at all"},
	{"V-weakness-4", "a conversation that waited for a person is dead after a restart"},
	{"V-weakness-5", "no enriched query, or no expert named: an error"},
	{"V-weakness-6", "one call of a model holds up everybody"},
	{"V-weakness-7", "planning is polled for every 100 ms"},
	{"V-weakness-8", "a second question overwrites the first, whose planner waits for ever"},
	{"V-weakness-9", "schedules know no time zone"},
	{"V-weakness-12", "work in hand is abandoned at a restart"},
	{"V-weakness-14", "plans without dependencies"},
	{"V-weakness-15", "the example in the prompt is itself broken"},
	{"V-weakness-issue-151", "no response when no expert is chosen"},
	{"V-weakness-issue-174", "no response when no expert is chosen"},
	{"V-weakness-issue-218", "plain text in place of a plan is an exception"},
	{"V-weakness-issue-228", "the planner calls the same tool again and again"},
	{"V-weakness-issue-264", "provider errors"},
	{"V-weakness-issue-273", "the words of the person are changed on the way to the expert he named"},
	{"V-weakness-issue-298", "work for an expert that does not exist"},
	{"V-weakness-issue-367", "that an expert was invented is not said"},
	{"V-weakness-issue-618", "provider errors"},
	{"F-weakness-a", "enough context with open steps: a panic"},
	{"F-weakness-b", "a failure to parse wipes the plan there was; the first one ends in silence"},
	{"F-weakness-c", "the request's auto-accept is ignored"},
	{"F-weakness-d", "requests at once share one map"},
	{"F-weakness-e", "edits of a plan have no limit"},
	{"F-weakness-f", "everything is rebuilt for each request"},
	{"F-weakness-g", "one step at a time, and later ones do not see earlier results"},
	{"F-weakness-h", "no step, no search tool, an unknown type: a panic or a step left out"},
	{"F-weakness-i", "what is told live bears the wrong name, and some of it is lost"},
	{"F-weakness-j", "no tests"},
	{"F-weakness-v1-a", "a plan that cannot be parsed at first: a silent end"},
	{"F-weakness-v1-b", "a plan that is a text breaks the reporter"},
	{"F-weakness-v1-c", "requests at once share one checkpointer"},
	{"F-weakness-v1-d", "checkpoints are gone after a restart"},
	{"F-weakness-v1-e", "a plan cannot be edited by its steps"},
	{"F-weakness-v1-f", "edits of a plan have no limit"},
	{"F-weakness-issue-43", "an error midway loses all work"},
	{"F-weakness-issue-73", "an edit of the plan crashes"},
	{"F-weakness-issue-99", "junk behind the JSON"},
	{"F-weakness-issue-191", "fields of the plan are missing"},
	{"F-weakness-issue-255", "long waits between steps that could run at once"},
	{"F-weakness-issue-347", "no checkpoint for each node"},
	{"F-weakness-issue-361", "the plan is not shown"},
	{"F-weakness-issue-494", "fields of the plan are missing"},
	{"F-weakness-issue-501", "plans that no tool can carry out"},
	{"F-weakness-issue-598", "questions never expire"},
	{"F-weakness-issue-650", "steps without a type"},
	{"F-weakness-issue-653", "steps without a type"},
	{"F-weakness-issue-677", "all steps without a search go to the coder"},
	{"F-weakness-issue-709", "fields of the plan are missing"},
	{"F-weakness-issue-1211", "no steps at once"},
	{"F-weakness-issue-1213", "checkpoints are lost when a session is resumed"},
	{"F-weakness-issue-1222", "checkpoints are lost when a session is resumed"},
	{"F-weakness-issue-3016", "no real questions with forms"},
	{"O-weakness-1", "a step that raises is tried without end, and never blocked"},
	{"O-weakness-4", "tags in lower case or with digits choose no agent"},
	{"O-weakness-5", "a flow works once; empty steps fail the request"},
	{"O-weakness-7", "no dependencies, nothing at once, no new plan, earlier results unseen"},
	{"O-weakness-8", "plans live in memory"},
	{"O-weakness-9", "what no retry can cure is retried"},
	{"O-weakness-issue-414", "what it costs is invisible"},
	{"O-weakness-issue-458", "loops without end"},
	{"O-weakness-issue-573", "prompts longer than the model takes"},
	{"O-weakness-issue-583", "no tool is chosen, so there is no plan"},
	{"O-weakness-issue-986", "no person can be asked within a step"},
	{"O-weakness-issue-1074", "what it costs is invisible"},
	{"O-weakness-issue-1082", "empty steps"},
	{"O-weakness-issue-1271", "the plan is never updated during the run"},
	{"O-weakness-issue-1323", "no limit of tries, and no new plan after it"},
}

// weaknessPart writes weaknesses with the tests that claim to prove them, those without one as open, and records them as
// listed.
func weaknessPart(b io.Writer, title string, list []weakness, proved proofs, listed map[string]bool) {
	fmt.Fprintf(b, "\n## %s\n\nWhat goes wrong there, and the regression test here.\n\n| id | there | from outside | in packages |\n|---|---|---|---|\n", title)
	for _, w := range list {
		listed[w.id] = true
		fmt.Fprintf(b, "| %s | %s | %s |\n", w.id, w.what, proved.cells(w.id, ""))
	}
}
