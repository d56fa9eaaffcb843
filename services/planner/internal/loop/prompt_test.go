package loop

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// shown collects the live items of a run.
type shown struct {
	items []item.Item
	seams int
}

func (s *shown) Show(i item.Item) { s.items = append(s.items, i) }
func (s *shown) Seam(int, bool)   { s.seams++ }
func (s *shown) End(bool)         {}

// of returns the texts of a type.
func (s *shown) of(kind item.Type) []string {
	var list []string
	for i := range s.items {
		if s.items[i].Type == kind {
			list = append(list, s.items[i].Text)
		}
	}
	return list
}

func TestPromptsAreKeptAndShownWhereTheRequestHasDebugAndOnlyThere(t *testing.T) {
	for _, debug := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w, s, m := newPorts("x"), &shown{}, &tongue{says: onePlan}
			w.model, w.items = m, s
			o := goal()
			o.Request.Debug = debug
			musttest.Do(t, w.run(t, nil, w.delivery(t, o)))
			entries := musttest.Get(w.Read(t.Context(), "j", events.PlanID))(t)
			list, err := joblog.Exchanges(events.PlanID, entries, func(r events.Ref) ([]byte, error) { return w.Get(t.Context(), "j", r.Digest) })
			if err != nil || len(list) != 1 || list[0].Answer != onePlan || (list[0].Prompt != nil) != debug {
				t.Fatalf("debug %v: %v %+v", debug, err, list)
			}
			prompts, raw := s.of(item.Prompt), s.of(item.Raw)
			if !debug {
				if len(prompts)+len(raw) > 0 {
					t.Errorf("shown unasked: %v %v", prompts, raw)
				}
				return
			}
			if text := list[0].Prompt.String(); !strings.HasSuffix(text, m.heard) || len(prompts) != 1 || prompts[0] != text || len(raw) != 1 || raw[0] != onePlan {
				t.Errorf("kept %q, shown %q and %q, heard %q", text, prompts, raw, m.heard)
			}
		})
	}
}

func TestALargePromptIsKeptBesideTheJournalAndOneThatIsTooLargeInPart(t *testing.T) {
	c := &planning.Command{Call: &planning.ModelCall{Role: "planner", Messages: []planning.Message{
		{Role: "system", Text: "s"}, {Role: "user", Text: strings.Repeat("a", mostPrompt-2) + "ää"}, {Role: "user", Text: "late"},
	}}}
	p := prompted(c, mostPrompt)
	if m := p.Messages; m[0].Truncated != 0 || len(m[1].Text) != mostPrompt-2 || m[1].Truncated != 4 || m[2].Text != "l" || m[2].Truncated != 3 {
		t.Errorf("%d %d %+v", len(m[1].Text), m[1].Truncated, m[2])
	}
	if text := p.String(); !strings.HasSuffix(text, "\n… 4 more bytes\n\n[user]\nl\n… 3 more bytes") {
		t.Error(text[len(text)-80:])
	}
	w := newPorts()
	r := &record{loop: &Loop{Settings: Settings{Blobs: w}}, w: &events.Work{Job: "j", Request: &events.Request{Debug: true}}}
	var rec events.JournalRecord
	if err := r.hold(t.Context(), &rec, r.prompt(c)); err != nil || rec.Ref == nil || len(rec.Data) > 0 {
		t.Fatalf("%v %+v", err, rec.Ref)
	}
	var kept events.Prompt
	data, err := w.Get(t.Context(), "j", rec.Ref.Digest)
	if err != nil || json.Unmarshal(data, &kept) != nil || len(kept.Messages) != 3 {
		t.Errorf("%v %d", err, len(data))
	}
}
