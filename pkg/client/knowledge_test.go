package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

func TestDocumentsAreKeptForASessionAndRemovedByTheBeginningOfTheirDigest(t *testing.T) {
	c := connect(t)
	ref, err := c.Knowledge().Add(t.Context(), "a talk", "rules.html", strings.NewReader("be brief"))
	if err != nil || ref.Name != "rules.html" || !strings.HasPrefix(ref.MediaType, "text/html") || ref.Size != 8 {
		t.Fatalf("%+v %v", ref, err)
	}
	if list, err := c.Knowledge().List(t.Context(), "a talk"); err != nil || len(list) != 1 || list[0] != ref {
		t.Errorf("%+v %v", list, err)
	}
	for _, id := range []string{"", ref.Digest[:leastID-1], strings.Repeat("0", 64)} {
		if err := c.Knowledge().Remove(t.Context(), "a talk", id); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := c.Knowledge().Remove(t.Context(), "a talk", ref.Digest[:leastID]); err != nil {
		t.Error(err)
	}
	if list, err := c.Knowledge().List(t.Context(), "a talk"); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := c.Knowledge().Add(t.Context(), "a talk", "nothing", strings.NewReader("")); !errors.Is(err, bus.ErrRefused) {
		t.Errorf("%v", err)
	}
}

// leastID is the least length of a digest prefix.
const leastID = 8
