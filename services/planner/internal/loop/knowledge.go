package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Knowledge lists and searches bases of knowledge.
type Knowledge interface {
	List(ctx context.Context, b bases.Base) ([]events.Ref, error)
	Search(ctx context.Context, bases []bases.Base, query string, most int) (knowledge.Found, error)
}

const (
	// maxListed limits the documents that a prompt names, maxPassages its passages.
	maxListed   = 50
	maxPassages = 4
	// leastFindings is the least number of bytes for findings in a prompt, if the profile has no room for any.
	leastFindings = 8 << 10
	// knowledgeSource is the source of such findings.
	knowledgeSource = "knowledge"
)

// consult looks the request up in the bases that the profile and the request name, for planning with a model: which documents there
// are, and the best passages. They become part of the start record, which is written before the first call, so that every later run
// sees the same.
func (t *planningRun) consult() error {
	s := &t.start
	names := append(slices.Clone(s.Profile.Knowledge), s.Request.Knowledge...)
	given := len(s.Request.Plan) > 0 || s.Request.Expert != ""
	if t.loop.Knowledge == nil || len(names) == 0 || !s.Model || given || t.w.ResumeOf > 0 || s.Mode == events.WorkFinalize {
		return nil
	}
	list := bases.Of(names, bases.Owner{User: s.Request.User, Sessions: []string{s.Request.Session}})
	var documents []string
	for _, b := range list {
		refs, err := t.loop.Knowledge.List(t.ctx, b)
		if err != nil {
			return fmt.Errorf("list the documents of %s: %w", b, err)
		}
		for _, ref := range refs {
			documents = append(documents, b.Label()+"/"+ref.Name)
		}
	}
	if len(documents) == 0 {
		return nil
	}
	found, err := t.loop.Knowledge.Search(t.ctx, list, s.Request.Goal+"\n"+t.w.Spec.Goal, maxPassages)
	if err != nil {
		return fmt.Errorf("look the request up in what is kept: %w", err)
	}
	if more := len(documents) - maxListed; more > 0 {
		documents = append(documents[:maxListed], fmt.Sprintf("(and %d more)", more))
	}
	s.Profile.Limits.FindingBytes = max(s.Profile.Limits.FindingBytes, leastFindings)
	s.Findings = append(s.Findings, planning.Finding{Source: knowledgeSource, Title: "documents that experts can read", Text: strings.Join(documents, "\n")})
	for i := range found.Hits {
		s.Findings = append(s.Findings, planning.Finding{Source: knowledgeSource, Title: found.Hits[i].Source(), Text: found.Hits[i].Text})
	}
	return nil
}
