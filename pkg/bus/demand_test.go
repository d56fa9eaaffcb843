package bus_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// withRoles connects to a bus on which signatures count.
func withRoles(t testing.TB, server *bustest.Server) *bus.Bus {
	t.Helper()
	o := server.Options("signed")
	o.Signers = filepath.Join(t.TempDir(), "signers.json")
	noErr(t, os.WriteFile(o.Signers, []byte(`{"since":"2026-01-01T00:00:00Z","signers":[]}`), 0o600))
	b, err := bus.Connect(t.Context(), o)
	noErr(t, err)
	t.Cleanup(b.Close)
	return b
}

// Services of earlier releases start only if the headers of messages may remove descriptions of payloads; where signatures count, they must not.
func TestDescriptionsOfPayloadsCannotBeRemovedByAHeaderWhereSignaturesCount(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	plain := server.Connect("plain")
	may := func() bool {
		stream, err := sdk(t, server).Stream(t.Context(), "OBJ_JOBS_BLOBS")
		noErr(t, err)
		return stream.CachedInfo().Config.AllowRollup
	}
	noErr(t, plain.Streams().Init(t.Context()))
	if !may() {
		t.Error("services of earlier releases do not start")
	}
	signed := withRoles(t, server)
	noErr(t, signed.Streams().Init(t.Context()))
	if may() {
		t.Error("a header removes descriptions where signatures count")
	}
	noErr(t, signed.Streams().Check(t.Context()))
	noErr(t, plain.Streams().Demand(t.Context(), false))
	if !may() {
		t.Error("services of earlier releases do not start any more")
	}
	noErr(t, signed.Streams().Drop(t.Context()))
	noErr(t, signed.Streams().Init(t.Context()))
	if may() {
		t.Error("a header removes descriptions of new streams where signatures count")
	}
}

// If init with a list of signers has made or found the streams, no service starts without a list.
func TestNoServiceStartsWithoutSignersWhereSignaturesCount(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	plain := server.Connect("plain")
	noErr(t, plain.Streams().Prepare(t.Context()))
	signed := withRoles(t, server)
	for _, streams := range []string{"that were there", "that are new"} {
		noErr(t, signed.Streams().Prepare(t.Context()))
		var faults events.Faults
		err := plain.Streams().Prepare(t.Context())
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Code != events.CodeMissing || faults[0].Field != "signers" || !strings.Contains(faults[0].Hint, "JOBGRAPH_SIGNERS") {
			t.Fatalf("streams %s: a service without a list: %v", streams, err)
		}
		noErr(t, plain.Streams().Check(t.Context())) // Clients may read.
		noErr(t, signed.Streams().Prepare(t.Context()))
		noErr(t, signed.Streams().Drop(t.Context()))
	}
	noErr(t, signed.Streams().Init(t.Context()))
	before, err := sdk(t, server).Stream(t.Context(), "JOBS")
	noErr(t, err)
	if facts, err := plain.Streams().Server(t.Context()); err != nil || !facts.Demanded || facts.Signed {
		t.Errorf("the server is described as %+v, %v", facts, err)
	}
	noErr(t, plain.Streams().Demand(t.Context(), false))
	noErr(t, plain.Streams().Prepare(t.Context()))
	after, err := sdk(t, server).Stream(t.Context(), "JOBS")
	noErr(t, err)
	was, is := before.CachedInfo().Config, after.CachedInfo().Config
	delete(was.Metadata, "io.jobgraph.signed")
	if !reflect.DeepEqual(was, is) {
		t.Errorf("the note has left a stream that differs: %+v, was %+v", is, was)
	}
}
