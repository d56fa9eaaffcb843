package bus_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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
