package plan

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// valueCell reads {"tasks":[{title, query, agent_name, …}]}: a flat list, whose tasks depend on others only if they name
// them. The failure of one task leaves the others alone, as far as the job's failure policy allows.
func (d *draft) valueCell(r reader) {
	d.head(r)
	d.ask(r)
	r.passOver("conversation_id", "user_id", "thread_id")
	for i, raw := range r.list("tasks") {
		if task, ok := d.read(raw, fmt.Sprintf("tasks[%d]", i)); ok {
			d.steps = append(d.steps, task.task(i+1))
			if needs, given := task.needed(); given {
				d.steps[len(d.steps)-1].Dependencies = needs
			}
			task.tell()
		}
	}
	r.tell()
}

func (r *reader) task(number int) step {
	s := step{path: r.path, expertField: "agent_name", goalField: "query"}
	s.SubJob = events.SubJob{
		ID: r.text("task_id"), Title: r.text("title"), Goal: r.text("query"), Expert: r.text("agent_name"),
		Schedule: r.schedule("schedule_config"),
	}
	if s.ID == "" {
		s.ID = fmt.Sprintf("task_%d", number)
	}
	if pattern := r.text("pattern"); pattern != "" {
		if s.Schedule == nil {
			s.Schedule = &events.Schedule{}
		}
		s.Schedule.Pattern = pattern
	}
	r.passOver("conversation_id", "user_id", "thread_id", "status", "remote_task_ids", "handoff_from_super_agent",
		"created_at", "started_at", "completed_at", "updated_at", "error_message")
	return s
}
