package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Header is the first field, "store": it describes the value.
type Header struct {
	// Stream identifies the log that the state was folded from, by the log's creation time.
	Stream string `json:"stream"`
	// Digest is the digest of the state as the core wrote it; empty if an earlier release wrote it or if there is no state.
	Digest string `json:"digest,omitempty"`
	// Size is the length of the state in bytes, and Chunks are the revisions of the keys <job>.0, <job>.1, … that contain
	// it; both are empty for a state inside this value.
	Size   int      `json:"size,omitempty"`
	Chunks []uint64 `json:"chunks,omitempty"`
}

// front holds the fields before those of the state.
type front struct {
	Store       *Header       `json:"store"`
	Quarantined *events.Fault `json:"quarantined,omitempty"`
}

// Read returns the header of a value, or nil if no scheduler wrote the value or it is truncated.
func Read(value []byte) *Header {
	var f front
	if json.Unmarshal(value, &f) != nil {
		return nil
	}
	return f.Store
}

// Head is the beginning of a value with the main facts about its job.
type Head struct {
	// Store is the header. Quarantined says why the job is in quarantine, nil if it is not.
	Store       *Header       `json:"store"`
	Quarantined *events.Fault `json:"quarantined"`
	// Status is the job's status, empty if the value contains nothing but a quarantine.
	Status events.Status `json:"status"`
	// Seq is the log sequence of the last event in the state, RequestSeq that of the job's request.
	Seq        uint64 `json:"seq"`
	RequestSeq uint64 `json:"request_seq"`
}

// InMotion reports whether the job has neither ended nor been quarantined: such a job is not deleted.
func (h *Head) InMotion() bool {
	return h.Status != "" && !h.Status.Terminal() && h.Quarantined == nil
}

// ReadHead reads the head of a value that a scheduler wrote, without its large fields.
func ReadHead(value []byte) (h Head, ok bool) {
	if before, _, found := bytes.Cut(value, []byte(`,"subjobs":[`)); found {
		value = append(bytes.Clone(before), '}')
	}
	err := json.Unmarshal(value, &h)
	return h, err == nil && h.Store != nil
}

// Compose puts the header, and the fault of a quarantined job, before the state's own fields.
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

// Bare removes what Compose added. A value without it is returned unchanged.
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

// The digest is a CRC-32C, whose computation costs a hundredth of encoding the state. The name of the algorithm is a
// prefix, so that others can be added.
const algorithm = "crc32c:"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Digest returns the digest of a state as the core wrote it.
func Digest(state []byte) string {
	return fmt.Sprintf("%s%08x", algorithm, crc32.Checksum(state, castagnoli))
}

// Verdict is the result of checking a digest.
type Verdict string

// The possible verdicts.
const (
	Whole    Verdict = "whole"    // The state is what was written.
	Unsigned Verdict = "unsigned" // There is no digest, or this release does not know its algorithm: only the log can tell.
	Damaged  Verdict = "damaged"  // The state differs from what was written.
)

// Check compares a bare state with the digest in its header.
func (h *Header) Check(state []byte) Verdict {
	switch {
	case !strings.HasPrefix(h.Digest, algorithm):
		return Unsigned
	case h.Digest != Digest(state):
		return Damaged
	}
	return Whole
}
