package bus_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Whatever someone stores as the description of a payload before it comes, the payload is stored and read.
func TestAFalseDescriptionHidesNoPayload(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	thief, b := server.Bus("thief"), withRoles(t, server)
	for _, size := range []int{70_000, 300_000} {
		data := random(size)
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		meta := "$O.JOBS_BLOBS.M." + base64.URLEncoding.EncodeToString([]byte("j1/"+digest))
		put(t, thief, events.Message{Subject: "$O.JOBS_BLOBS.C.false", Body: random(size - 1)})
		for _, text := range []string{
			`no JSON`, `{"deleted":true}`, `{"nuid":"gone","size":9,"chunks":1}`, `{"nuid":"a b","size":9,"chunks":1}`, `{"nuid":">","size":9,"chunks":2}`, `{"size":9,"chunks":2}`,
			fmt.Sprintf(`{"nuid":"false","size":%d,"chunks":1}`, size), fmt.Sprintf(`{"nuid":"false","size":%d,"chunks":3}`, size-1), `{"nuid":"false","size":0}`,
		} {
			put(t, thief, events.Message{Subject: meta, Body: []byte(text)})
		}
		_, err := thief.Blobs().Get(t.Context(), "j1", digest)
		wantErr(t, err, bus.ErrNotFound)
		for range 2 {
			ref, err := b.Blobs().Put(t.Context(), "j1", data)
			noErr(t, err)
			_, err = b.Blobs().PutFrom(t.Context(), "j1", bytes.NewReader(data))
			noErr(t, err)
			got, err := thief.Blobs().Get(t.Context(), "j1", ref.Digest)
			noErr(t, err)
			var out bytes.Buffer
			noErr(t, thief.Blobs().GetTo(t.Context(), "j1", ref.Digest, &out))
			if !bytes.Equal(got, data) || !bytes.Equal(out.Bytes(), data) {
				t.Fatalf("%d bytes came back as %d and %d others", size, len(got), out.Len())
			}
		}
		subjects, err := thief.Streams().Subjects(t.Context(), "OBJ_JOBS_BLOBS", meta)
		noErr(t, err)
		if n := subjects[meta]; n != 10 {
			t.Errorf("there are %d descriptions, want the false ones and the true one", n)
		}
	}
}

// Of what is stored as a description only what can be one is tried, once each, until one fits or the bus is away.
func TestEachDescriptionIsTriedOnce(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	digest := fmt.Sprintf("%x", sha256.Sum256(nil))
	meta := "$O.JOBS_BLOBS.M." + base64.URLEncoding.EncodeToString([]byte("j1/"+digest))
	var valid []uint64
	for _, text := range []string{
		`{"nuid":"good","size":0}`, `no JSON`, `{"nuid":"b","size":0,"deleted":true}`, `{"nuid":">","size":0}`, `{"nuid":"c","size":-1}`,
		`{"nuid":"d","size":1073741825}`, `{"nuid":"good","size":1073741824}`, `{"nuid":"good","size":0}`,
	} {
		seq := put(t, b, events.Message{Subject: meta, Body: []byte(text)})
		if strings.Contains(text, "good") {
			valid = append(valid, seq)
		}
	}
	away := errors.New("away")
	for _, c := range []struct {
		name  string
		tried []uint64
		fits  map[uint64]error // The result for some; the others do not fit.
		at    uint64
		err   error
	}{
		{"none fits", valid, nil, valid[0], bus.ErrNotFound},
		{"the first one", valid[:1], map[uint64]error{valid[0]: nil}, valid[0], nil},
		{"the last one", valid, map[uint64]error{valid[2]: nil}, valid[2], nil},
		{"the bus is away at once", valid[:1], map[uint64]error{valid[0]: away}, valid[0], away},
		{"the bus is away in the middle", valid[:2], map[uint64]error{valid[1]: away}, valid[1], away},
	} {
		var tried []uint64
		at, err := b.Blobs().Described(t.Context(), "j1", digest, func(at uint64) error {
			tried = append(tried, at)
			if err, known := c.fits[at]; known {
				return err
			}
			return bus.ErrNotFound
		})
		if at != c.at || !errors.Is(err, c.err) || !slices.Equal(tried, c.tried) {
			t.Errorf("%s: %d, %v after %v, want %d, %v after %v", c.name, at, err, tried, c.at, c.err, c.tried)
		}
	}
}

// Where signatures count no chunk is removed before its job, so none is sent before it is known whether the payload is stored.
func TestWhatIsStoredIsNotSentAgainWhereSignaturesCount(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	plain, signed := server.Bus("plain"), withRoles(t, server)
	for range 2 {
		_, err := signed.Blobs().Put(t.Context(), "j1", []byte("small"))
		noErr(t, err)
	}
	subjects, err := plain.Streams().Subjects(t.Context(), "OBJ_JOBS_BLOBS", "$O.JOBS_BLOBS.C.>")
	noErr(t, err)
	if len(subjects) != 1 {
		t.Errorf("chunks are on %d subjects", len(subjects))
	}
}
