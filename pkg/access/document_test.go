package access_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// TestADocumentCountsThatItsBaseIsOpenTo has identities add documents to bases: those who may not are refused, and what they store
// nevertheless, as a payload, counts for no reader.
func TestADocumentCountsThatItsBaseIsOpenTo(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	scheduler, reader := s.signed(tenant, "scheduler"), s.signed(tenant, "viewer")
	musttest.Get(scheduler.Sessions().Put(t.Context(), "hers", []byte(`{"id":"hers","user":"anna"}`), 0))(t)
	for _, c := range []struct {
		base   bases.Base
		prefix string
		who    []string // Those who may add documents.
	}{
		{bases.Base{Scope: bases.User, Name: "anna"}, "~u~anna", []string{"admin", "scheduler", "gateway", "anna"}},
		{bases.Base{Scope: bases.User, Name: "bert"}, "~u~bert", []string{"admin", "scheduler", "gateway"}},
		{bases.Base{Scope: bases.Session, Name: "hers"}, "~k~hers", []string{"admin", "scheduler", "gateway", "anna"}},
		{bases.Base{Scope: bases.Session, Name: "open"}, "~k~open", []string{"admin", "scheduler", "gateway", "anna", "client"}},
		{bases.Base{Scope: bases.Global, Name: "handbook"}, "~b~handbook", []string{"admin", "scheduler", "gateway"}},
	} {
		var want []string
		for _, who := range []string{"admin", "scheduler", "gateway", "anna", "client", "runner-a", "planner"} {
			b := s.signed(tenant, who)
			_, err := b.Documents().Put(t.Context(), c.base, events.Ref{Name: who}, strings.NewReader("of "+who))
			if may := slices.Contains(c.who, who); may && err == nil {
				want = append(want, who)
			} else if may || !errors.Is(err, bus.ErrNotPermitted) {
				t.Errorf("%s adds a document to the base of %s: %v", who, c.base, err)
			}
			if _, err := b.Blobs().Put(t.Context(), c.prefix, []byte("forged by "+who)); err == nil && slices.Contains(c.who, who) {
				want = append(want, "")
			} else if err != nil {
				t.Fatal(err)
			}
		}
		list, err := reader.Documents().List(t.Context(), c.base)
		var got []string
		for _, ref := range list {
			got = append(got, ref.Name)
		}
		if slices.Sort(want); err != nil || !slices.Equal(got, want) {
			t.Errorf("the base of %s has %q, want %q (%v)", c.base, got, want, err)
		}
	}
	early := *tenant
	early.Since = time.Now().Add(time.Hour)
	if list, err := s.signed(&early, "viewer").Documents().List(t.Context(), bases.Base{Scope: bases.User, Name: "bert"}); err != nil || len(list) != 10 {
		t.Errorf("%d documents from before the list count (%v)", len(list), err)
	}
}

// Someone has stored the bytes of a document before, who may not add it: it does not count until one who may adds it, with its name.
func TestADocumentThatSomeoneElseHasStoredIsDescribedAgain(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	base := bases.Base{Scope: bases.User, Name: "anna"}
	const text = "the same bytes"
	for _, who := range []string{"runner-a", "client", "client"} {
		musttest.Get(s.signed(tenant, who).Blobs().Put(t.Context(), "~u~anna", []byte(text)))(t)
	}
	anna := s.signed(tenant, "anna")
	if list, err := anna.Documents().List(t.Context(), base); err != nil || len(list) != 0 {
		t.Fatalf("%+v (%v)", list, err)
	}
	ref, err := anna.Documents().Put(t.Context(), base, events.Ref{Name: "hers"}, strings.NewReader(text))
	if err != nil || ref.Name != "hers" {
		t.Fatalf("%+v (%v)", ref, err)
	}
	reader := s.signed(tenant, "viewer").Documents()
	if data, err := reader.Get(t.Context(), base, ref.Digest); err != nil || string(data) != text {
		t.Errorf("%q (%v)", data, err)
	}
	if list, err := reader.List(t.Context(), base); err != nil || len(list) != 1 || list[0].Name != "hers" {
		t.Errorf("%+v (%v)", list, err)
	}
}
