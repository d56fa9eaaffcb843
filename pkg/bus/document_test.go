package bus_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func ofSession(id string) bases.Base { return bases.Base{Scope: bases.Session, Name: id} }

// proves C41
func TestDocumentsOfASessionAreKeptByDigestUntilTheyAreRemoved(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	put := func(session, name, text string) events.Ref {
		t.Helper()
		ref, err := b.Documents().Put(t.Context(), ofSession(session), events.Ref{Name: name, MediaType: "text/plain"}, strings.NewReader(text))
		noErr(t, err)
		return ref
	}
	list := func(session string) []events.Ref {
		t.Helper()
		all, err := b.Documents().List(t.Context(), ofSession(session))
		noErr(t, err)
		return all
	}
	large := put("s 1", "b.txt", strings.Repeat("large", 100_000))
	small := put("s 1", "a.txt", "small")
	if again := put("s 1", "other.txt", "small"); again != small {
		t.Errorf("the same bytes are %+v, were %+v", again, small)
	}
	other := put("s1", "a.txt", "small")
	_, err := b.Blobs().Put(t.Context(), "s1", []byte("a job of the same name"))
	noErr(t, err)
	if d := cmp.Diff([]events.Ref{small, large}, list("s 1")); d != "" || small.Name != "a.txt" || small.MediaType != "text/plain" || small.Size != 5 {
		t.Errorf("%s\n%+v", d, small)
	}
	text, err := b.Documents().Get(t.Context(), ofSession("s 1"), small.Digest)
	noErr(t, err)
	if string(text) != "small" {
		t.Errorf("read %q", text)
	}
	noErr(t, b.Documents().Delete(t.Context(), ofSession("s 1"), small.Digest))
	for _, gone := range []string{small.Digest, "", "*", ">", "zz"} {
		wantErr(t, b.Documents().Delete(t.Context(), ofSession("s 1"), gone), bus.ErrNotFound)
	}
	musttest.Equal(t, []events.Ref{large}, list("s 1"))
	noErr(t, b.Blobs().Delete(t.Context(), "s1"))
	musttest.Equal(t, []events.Ref{other}, list("s1"))
	noErr(t, b.Documents().DeleteAll(t.Context(), ofSession("s1")))
	noErr(t, b.Documents().DeleteAll(t.Context(), ofSession("s 1")))
	facts, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	if len(list("s1")) != 0 || facts.Messages != 0 {
		t.Errorf("%d messages are left", facts.Messages)
	}
}

func TestADocumentThatIsEmptyOrTooLargeIsRefused(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	_, err := b.Documents().Put(t.Context(), ofSession("s"), events.Ref{}, strings.NewReader(""))
	wantErr(t, err, bus.ErrRefused)
	_, err = b.Documents().Put(t.Context(), ofSession("s"), events.Ref{}, io.NewSectionReader(bytes.NewReader(nil), 0, bus.MaxDocument+1))
	wantErr(t, err, bus.ErrTooLarge)
}
