package conversation

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// Artifacts lists the files of a result, with the addresses for citations.
func Artifacts(subjob string, refs []events.Ref) string {
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = fmt.Sprintf("%s %d bytes, %s", artifact.Address(subjob, ref.Name), ref.Size, ref.MediaType)
	}
	return strings.Join(lines, "\n")
}

// MaxHead is how much of the beginning of an artifact the model sees, in bytes; MaxHeads is for how many artifacts.
const (
	MaxHead  = 1000
	MaxHeads = 16
)

// beginnings returns the beginnings of text artifacts, by digest, as data.
func beginnings(subjob string, refs []events.Ref, heads map[string]string) string {
	var b strings.Builder
	for _, ref := range refs {
		text := heads[ref.Digest]
		if text == "" {
			continue
		}
		if ref.Size > int64(len(text)) {
			text += fmt.Sprintf("\n[cut: %d of %d bytes]", len(text), ref.Size)
		}
		b.WriteString("\n" + Data("beginning", artifact.Address(subjob, ref.Name), text, MaxShown))
	}
	return b.String()
}
