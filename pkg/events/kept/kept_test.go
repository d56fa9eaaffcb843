package kept

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestWhatIsComposedIsReadBack(t *testing.T) {
	faults := []*events.Fault{nil, {Code: events.CodeInternal, Message: `a "fold": and a }, in words`}}
	states := []string{
		`{"fold":1,"id":"j","seq":7}`, `{"id":"j"}`, `{"a\"b":"{\"store\":","c":[{"store":1}],"quarantined ":null}`, `{"fold":1,"goal":"` + "\u2028é" + `"}`,
	}
	for _, state := range states {
		for _, fault := range faults {
			value, err := Compose(Header{Stream: "s", Digest: Digest([]byte(state)), Chunks: []uint64{4, 5}}, fault, []byte(state))
			if err != nil || !json.Valid(value) {
				t.Fatalf("%s, %v", value, err)
			}
			h, bare := Read(value), Bare(value)
			if h == nil || string(bare) != state || h.Check(bare) != Whole || len(h.Chunks) != 2 {
				t.Errorf("header %+v, bare %s, want %s", h, bare, state)
			}
		}
	}
	for _, state := range []string{"", "{}", "[1]"} {
		if value, err := Compose(Header{}, nil, []byte(state)); err == nil {
			t.Errorf("%q gave %s", state, value)
		}
	}
}

func TestTheHeadOfAValueIsReadWithoutItsSubJobs(t *testing.T) {
	for status, motion := range map[events.Status]bool{events.Running: true, events.Waiting: true, events.Finished: false, "": false} {
		for _, fault := range []*events.Fault{nil, {Code: events.CodeInternal, Message: `,"subjobs":[`}} {
			value, err := Compose(Header{Stream: "s"}, fault, []byte(`{"status":"`+string(status)+`","seq":7,"request_seq":2,"subjobs":[{]`))
			if err != nil {
				t.Fatal(err)
			}
			h, ok := ReadHead(value)
			if !ok || h.Seq != 7 || h.RequestSeq != 2 || h.InMotion() != (motion && fault == nil) {
				t.Errorf("%s: %+v, in motion %t", value, h, h.InMotion())
			}
		}
	}
	for _, value := range []string{"", `{"status":"RUNNING"}`, `{"store":{},`} {
		if h, ok := ReadHead([]byte(value)); ok {
			t.Errorf("%q gave %+v", value, h)
		}
	}
}

func TestADigestFindsEachByteThatIsAnother(t *testing.T) {
	state := []byte(`{"fold":1,"id":"j","status":"RUNNING"}`)
	h := &Header{Digest: Digest(state)}
	for i := range state {
		other := bytes.Clone(state)
		other[i] ^= 1
		if got := h.Check(other); got != Damaged {
			t.Errorf("byte %d: %s", i, got)
		}
		if got := h.Check(state[:i]); got != Damaged {
			t.Errorf("cut at %d: %s", i, got)
		}
	}
	for _, digest := range []string{"", "later:00"} {
		if got := (&Header{Digest: digest}).Check(state); got != Unsigned {
			t.Errorf("digest %q: %s", digest, got)
		}
	}
}

func TestWhatNoSchedulerHasWrittenIsGivenAsItIs(t *testing.T) {
	for _, value := range []string{"", "{", "[]", "7", `{"id":"j"}`, `{"id":"j","store":{}}`, `{"store":{}`, `{"store":{}}`} {
		if got := Bare([]byte(value)); string(got) != value {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	state := bytes.Repeat([]byte("x"), 100<<10)
	b.SetBytes(int64(len(state)))
	for b.Loop() {
		Digest(state)
	}
}
