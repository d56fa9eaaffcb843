package plan

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// chat2Graph reads {"subtask_1":{…}}: the keys are the ids, and each task requires six fields.
func (d *draft) chat2Graph(r reader) {
	for i := range r.fields {
		f := &r.fields[i]
		id := f.key
		f.used = true
		if task, ok := d.read(f.value, id); ok {
			d.steps = append(d.steps, task.subtask(id))
		}
	}
	for _, id := range r.twice {
		d.faults.add(events.CodeDuplicateID, id, "two subtasks bear this id", "rename one of them")
	}
}

func (r *reader) subtask(id string) step {
	r.need("goal", "context", "completion_criteria", "dependencies", "assigned_expert", "thinking")
	s := step{path: r.path, expertField: "assigned_expert", goalField: "goal"}
	s.SubJob = events.SubJob{
		ID: id, Goal: r.text("goal"), Context: r.text("context"), CompletionCriteria: r.text("completion_criteria"),
		Dependencies: r.words("dependencies"), Expert: r.text("assigned_expert"), Thinking: r.text("thinking"),
	}
	for _, key := range r.keys() {
		if strings.HasPrefix(key, "language") {
			s.Language = r.text(key)
		}
	}
	d := r.draft
	if r.has("completion_criteria") && strings.TrimSpace(s.CompletionCriteria) == "" {
		d.faults.add(events.CodeMissing, s.at("completion_criteria"), "is empty", "say how to tell that the subtask is done")
	}
	if r.has("assigned_expert") && strings.TrimSpace(s.Expert) == "" {
		d.faults.add(events.CodeMissing, s.at("assigned_expert"), "is empty", "name an expert")
	}
	if r.has("thinking") && strings.TrimSpace(s.Thinking) == "" {
		d.warnings.add(events.CodeMissing, s.at("thinking"), "is empty", "say in a sentence why the subtask is needed")
	}
	r.tell()
	return s
}
