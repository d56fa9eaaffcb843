package bus_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
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
	largest := 20 << 20
	if testing.Short() {
		largest = 2 << 20
	}
	for _, size := range []int{0, 1, bus.InlineLimit + 1, 128 << 10, 128<<10 + 1, largest} {
		data := random(size)
		ref, err := b.Blobs().PutFrom(t.Context(), "j1", bytes.NewReader(data))
		noErr(t, err)
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); ref.Digest != want || ref.Size != int64(size) {
			t.Fatalf("reference is %+v, want digest %s", ref, want)
		}
		got, err := b.Blobs().Get(t.Context(), "j1", ref.Digest)
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
	_, err = b.Blobs().Get(t.Context(), "j1", "absent")
	wantErr(t, err, bus.ErrNotFound)
}

// counted is a reader that is asked how far it was read.
type counted struct {
	*bytes.Reader
	read   func(total int64)
	second bool // It had to begin again.
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	c.second = c.second || whence == io.SeekStart
	return c.Reader.Seek(offset, whence)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read(c.Size() - int64(c.Len()))
	return n, err
}

func TestABlobIsNeverReadFarAheadOfWhatIsStored(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	const most = 5 << 20 // 32 chunks, and the current one.
	size := int64(24 << 20)
	if testing.Short() {
		size = 8 << 20
	}
	asked := int64(0)
	source := &counted{Reader: bytes.NewReader(random(int(size)))}
	source.read = func(total int64) {
		if !source.second || total < asked+1<<20 {
			return // The first reading is only for the digest.
		}
		asked = total
		info, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
		noErr(t, err)
		if ahead := total - int64(info.Bytes); ahead > most {
			t.Errorf("%d bytes were read, %d of them are not stored", total, ahead)
		}
	}
	ref, err := b.Blobs().PutFrom(t.Context(), "j1", source)
	noErr(t, err)
	if asked < size-2<<20 {
		t.Fatalf("no request looked behind byte %d", asked)
	}
	sum, largest := sha256.New(), 0
	noErr(t, b.Blobs().GetTo(t.Context(), "j1", ref.Digest, writer(func(p []byte) (int, error) {
		largest = max(largest, len(p))
		return sum.Write(p)
	})))
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != ref.Digest || largest > 128<<10 {
		t.Errorf("digest %s, in pieces of %d bytes, want %s", got, largest, ref.Digest)
	}
}

// writer is a function as an io.Writer.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestABlobThatCannotBeWrittenOrReadLeavesNothingBehind(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	full := errors.New("the disk is full")
	ref, err := b.Blobs().PutFrom(t.Context(), "j1", bytes.NewReader(random(1<<20)))
	noErr(t, err)
	wantErr(t, b.Blobs().GetTo(t.Context(), "j1", ref.Digest, writer(func([]byte) (int, error) { return 0, full })), full)
	wantErr(t, b.Blobs().GetTo(t.Context(), "j1", "absent", io.Discard), bus.ErrNotFound)

	before, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	data := random(2<<20 + 1)
	source := &counted{Reader: bytes.NewReader(data)}
	source.read = func(total int64) {
		if total == source.Size() {
			data[len(data)-1]++ // After it was read for its digest.
		}
	}
	_, err = b.Blobs().PutFrom(t.Context(), "j1", source)
	wantErr(t, err, bus.ErrConflict)
	after, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	if after.Messages != before.Messages {
		t.Errorf("%d messages are left", after.Messages-before.Messages)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = b.Blobs().PutFrom(stopped, "j1", bytes.NewReader(data))
	wantErr(t, err, context.Canceled)
}

func TestSameBytesAreStoredOnceWhoeverPutsThem(t *testing.T) {
	for size, messages := range map[int]uint64{100: 2, 300 << 10: 4} {
		b := bustest.Start(t, bustest.Settings{}).Bus("test")
		data := random(size)
		put := func() {
			if _, err := b.Blobs().Put(t.Context(), "j1", data); err != nil {
				t.Error(err)
			}
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(put)
		}
		group.Wait()
		put()
		facts, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
		noErr(t, err)
		if facts.Messages != messages {
			t.Fatalf("%d messages for %d bytes, want %d: the chunks and their description", facts.Messages, size, messages)
		}
	}
}

func TestTamperedBlobIsNotGiven(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	digest := fmt.Sprintf("%x", sha256.Sum256(random(100)))
	name := "j1/" + digest
	for subject, body := range map[string]string{ // any order: the chunk is found by its subject.
		"$O.JOBS_BLOBS.C.theirs": "other",
		"$O.JOBS_BLOBS.M." + base64.URLEncoding.EncodeToString([]byte(name)): `{"name":"` + name + `","bucket":"JOBS_BLOBS","nuid":"theirs","size":5,"chunks":1}`,
	} {
		_, err := sdk(t, server).Publish(t.Context(), subject, []byte(body))
		noErr(t, err)
	}
	_, err := b.Blobs().Get(t.Context(), "j1", digest)
	wantErr(t, err, bus.ErrNotFound)
}

// A client that may store payloads can write on the subjects of other payloads. What follows a payload does not count.
func TestABlobCannotBeReplaced(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	for _, size := range []int{70 << 10, 300 << 10} {
		data := random(size)
		ref, err := b.Blobs().Put(t.Context(), "j1", data)
		noErr(t, err)
		subjects, err := b.Streams().Subjects(t.Context(), "OBJ_JOBS_BLOBS", "$O.JOBS_BLOBS.C.j1."+ref.Digest+".>")
		noErr(t, err)
		for subject := range subjects { // any order: there is one.
			_, err = b.Publish(t.Context(), events.Message{Subject: subject, Body: []byte("forged")}, bus.Expect{})
			noErr(t, err)
		}
		name := base64.URLEncoding.EncodeToString([]byte("j1/" + ref.Digest))
		for _, forged := range []string{`{"nuid":"other","size":6,"chunks":1}`, `{"deleted":true}`, `none`} {
			_, err = b.Publish(t.Context(), events.Message{Subject: "$O.JOBS_BLOBS.M." + name, Body: []byte(forged)}, bus.Expect{})
			noErr(t, err)
			if got, err := b.Blobs().Get(t.Context(), "j1", ref.Digest); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes behind %s: %d came back, %v", size, forged, len(got), err)
			}
			var out bytes.Buffer
			if err := b.Blobs().GetTo(t.Context(), "j1", ref.Digest, &out); err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%d bytes behind %s: %d were written, %v", size, forged, out.Len(), err)
			}
		}
	}
}

func TestBlobsOfOneJobGoAndNoOthers(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	var refs []events.Ref
	for _, size := range []int{0, 10, 200 << 10} {
		for _, job := range []string{"j1", "j11"} {
			ref, err := b.Blobs().Put(t.Context(), job, random(size))
			noErr(t, err)
			refs = append(refs, ref)
		}
	}
	noErr(t, b.Blobs().Delete(t.Context(), "j1"))
	noErr(t, b.Blobs().Delete(t.Context(), "j1"))
	wantErr(t, b.Blobs().Delete(t.Context(), "*"), bus.ErrRefused)
	for _, ref := range refs {
		_, err := b.Blobs().Get(t.Context(), "j1", ref.Digest)
		wantErr(t, err, bus.ErrNotFound)
		_, err = b.Blobs().Get(t.Context(), "j11", ref.Digest)
		noErr(t, err)
	}
	facts, err := b.Streams().Info(t.Context(), "OBJ_JOBS_BLOBS")
	noErr(t, err)
	if facts.Messages != 6 {
		t.Fatalf("%d messages are left, want those of three blobs", facts.Messages)
	}
}
