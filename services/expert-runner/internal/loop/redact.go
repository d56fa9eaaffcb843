package loop

import (
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// redacted returns an ending without secrets; it must be called before any of the texts is cut.
func redacted(redactor *redact.Redactor, e task.Ending) task.Ending {
	if redactor.Empty() {
		return e
	}
	if p := e.Park; p != nil {
		p.Prompt = redactor.Text(p.Prompt)
	}
	if p := e.Report; p != nil {
		p.Output, p.Lesson, p.Log = redactor.JSON(p.Output), redactor.Text(p.Lesson), redactor.Text(p.Log)
		if f := p.Error; f != nil {
			f.Message, f.Cause, f.Hint, f.Field = redactor.Text(f.Message), redactor.Text(f.Cause), redactor.Text(f.Hint), redactor.Text(f.Field)
		}
	}
	return e
}
