package client_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAPayloadIsFetchedWholeAndPreviewedWhenItIsText(t *testing.T) {
	c := connect(t)
	put := func(text string) events.Ref {
		t.Helper()
		return musttest.Get(c.Bus().Blobs().Put(t.Context(), "j1", []byte(text)))(t)
	}
	var got bytes.Buffer
	if err := c.Fetch(t.Context(), "j1", put("x,y"), &got); err != nil || got.String() != "x,y" {
		t.Errorf("%q %v", got.String(), err)
	}
	long := strings.Repeat("ä", 200_000)
	for text, want := range map[string]string{"": "", "short": "short", "four": "four", "fünä": "fün", "\xff\xfe": "", "a\x00b": "", long: "ää"} {
		if got, err := c.Preview(t.Context(), "j1", put(text), 5); err != nil || got != want {
			t.Errorf("of %.10q: %q %v, want %q", text, got, err, want)
		}
	}
	_, err := c.Preview(t.Context(), "j1", events.Ref{Digest: strings.Repeat("0", 64)}, 5)
	if !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("of what is gone: %v", err)
	}
	if err := c.Fetch(t.Context(), "no id", events.Ref{}, &got); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("of no job: %v", err)
	}
}
