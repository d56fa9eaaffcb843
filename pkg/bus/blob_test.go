package bus_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func random(size int) []byte {
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func TestBlobOfAnySizeComesBackWhole(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	theirs, err := sdk(t, server).ObjectStore(t.Context(), "JOBS_BLOBS")
	noErr(t, err)
	for _, size := range []int{0, 1, bus.InlineLimit + 1, 128 << 10, 128<<10 + 1, 20 << 20} {
		data := random(size)
		ref, err := b.PutBlobFrom(t.Context(), "j1", bytes.NewReader(data))
		noErr(t, err)
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); ref.Digest != want || ref.Size != int64(size) {
			t.Fatalf("reference is %+v, want digest %s", ref, want)
		}
		got, err := b.GetBlob(t.Context(), "j1", ref.Digest)
		noErr(t, err)
		if !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d others", size, len(got))
		}
		got, err = theirs.GetBytes(t.Context(), "j1/"+ref.Digest)
		noErr(t, err)
		if !bytes.Equal(got, data) {
			t.Fatalf("another client reads %d bytes as %d others", size, len(got))
		}
	}
	_, err = b.GetBlob(t.Context(), "j1", "absent")
	wantErr(t, err, bus.ErrNotFound)
}

func TestSameBytesAreStoredOnceWhoeverPutsThem(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	data := random(300 << 10)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := b.PutBlob(t.Context(), "j1", data); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	facts, err := b.StreamInfo(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	if facts.Messages != 4 {
		t.Fatalf("%d messages, want 3 chunks and their description", facts.Messages)
	}
}

func TestTamperedBlobIsNotGiven(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	ref, err := b.PutBlob(t.Context(), "j1", random(100))
	noErr(t, err)
	theirs, err := sdk(t, server).ObjectStore(t.Context(), "JOBS_BLOBS")
	noErr(t, err)
	_, err = theirs.PutBytes(t.Context(), "j1/"+ref.Digest, []byte("other"))
	noErr(t, err)
	_, err = b.GetBlob(t.Context(), "j1", ref.Digest)
	wantErr(t, err, bus.ErrNotFound)
}

func TestBlobsOfOneJobGoAndNoOthers(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	var refs []events.Ref
	for _, size := range []int{0, 10, 200 << 10} {
		for _, job := range []string{"j1", "j11"} {
			ref, err := b.PutBlob(t.Context(), job, random(size))
			noErr(t, err)
			refs = append(refs, ref)
		}
	}
	noErr(t, b.DeleteBlobs(t.Context(), "j1"))
	noErr(t, b.DeleteBlobs(t.Context(), "j1"))
	wantErr(t, b.DeleteBlobs(t.Context(), "*"), bus.ErrRefused)
	for _, ref := range refs {
		_, err := b.GetBlob(t.Context(), "j1", ref.Digest)
		wantErr(t, err, bus.ErrNotFound)
		_, err = b.GetBlob(t.Context(), "j11", ref.Digest)
		noErr(t, err)
	}
	facts, err := b.StreamInfo(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	if facts.Messages != 6 {
		t.Fatalf("%d messages are left, want those of three blobs", facts.Messages)
	}
}
