package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Header is the first field of what is kept, "store": what the value is, beside the state itself.
type Header struct {
	// Stream is the identity of the log that the state is the fold of: when it was created.
	Stream string `json:"stream"`
	// Digest is that of the state as the core wrote it; empty from a release that wrote none, and where there is no state.
	Digest string `json:"digest,omitempty"`
	// Size is the length of the state in bytes, and Chunks the revisions of the keys <job>.0, <job>.1, … that hold it; both
	// are empty for a state that stands in this very value.
	Size   int      `json:"size,omitempty"`
	Chunks []uint64 `json:"chunks,omitempty"`
}

// front is what stands before the state's own fields.
type front struct {
	Store       *Header       `json:"store"`
	Quarantined *events.Fault `json:"quarantined,omitempty"`
}

// Read gives the header of a value, or nil when a scheduler has not written it, or it is torn.
func Read(value []byte) *Header {
	var f front
	if json.Unmarshal(value, &f) != nil {
		return nil
	}
	return f.Store
}

// Head is what a value says of its job at its beginning.
type Head struct {
	// Store is the header, Quarantined why the scheduler leaves the job alone, nil when it does not.
	Store       *Header       `json:"store"`
	Quarantined *events.Fault `json:"quarantined"`
	// Status is the job's, empty where the mark of a quarantine stands alone.
	Status events.Status `json:"status"`
	// Seq and RequestSeq are sequences of the log: of the last event in the state, and of the job's request.
	Seq        uint64 `json:"seq"`
	RequestSeq uint64 `json:"request_seq"`
}

// InMotion reports whether the job has neither ended nor been given up: such a job is not deleted.
func (h *Head) InMotion() bool {
	return h.Status != "" && !h.Status.Terminal() && h.Quarantined == nil
}

// ReadHead reads the head of a value that a scheduler has written, without what makes it large.
func ReadHead(value []byte) (h Head, ok bool) {
	if before, _, found := bytes.Cut(value, []byte(`,"subjobs":[`)); found {
		value = append(bytes.Clone(before), '}')
	}
	err := json.Unmarshal(value, &h)
	return h, err == nil && h.Store != nil
}

// Compose puts the header, and the fault of a quarantined job, in front of the state's own fields.
func Compose(h Header, fault *events.Fault, state []byte) ([]byte, error) {
	head, err := json.Marshal(front{&h, fault})
	if err != nil {
		return nil, err
	}
	if len(state) < 3 || state[0] != '{' {
		return nil, fmt.Errorf("state is no JSON object: %.80q", state)
	}
	value := make([]byte, 0, len(head)+len(state))
	value = append(value, head[:len(head)-1]...)
	value = append(value, ',')
	return append(value, state[1:]...), nil
}

// Bare takes off what Compose has put in front. A value that does not begin so is given as it is.
func Bare(value []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(value))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return value
	}
	taken := false
	for d.More() {
		at := d.InputOffset()
		key, err := d.Token()
		if err != nil {
			return value
		}
		if key != "store" && key != "quarantined" {
			if !taken {
				return value
			}
			rest := bytes.TrimLeft(value[at:], ", \t\r\n")
			return append([]byte{'{'}, rest...)
		}
		taken = true
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return value
		}
	}
	return value
}

// The digest is a CRC-32C, which costs a hundredth of writing the state. Its name goes in front, so that there can be others.
const algorithm = "crc32c:"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Digest is that of a state as the core wrote it.
func Digest(state []byte) string {
	return fmt.Sprintf("%s%08x", algorithm, crc32.Checksum(state, castagnoli))
}

// Verdict is what a digest says of a state.
type Verdict string

// The verdicts.
const (
	Whole    Verdict = "whole"    // The state is what was written.
	Unsigned Verdict = "unsigned" // There is no digest, or one that this release does not know: only the log can tell.
	Damaged  Verdict = "damaged"  // The state is not what was written.
)

// Check holds a bare state against the digest of its header.
func (h *Header) Check(state []byte) Verdict {
	switch {
	case !strings.HasPrefix(h.Digest, algorithm):
		return Unsigned
	case h.Digest != Digest(state):
		return Damaged
	}
	return Whole
}
