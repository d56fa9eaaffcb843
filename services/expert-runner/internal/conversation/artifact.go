package conversation

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// Artifacts lists the files that came with a result, under the addresses by which they are cited.
func Artifacts(subjob string, refs []events.Ref) string {
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = fmt.Sprintf("%s %d bytes, %s", artifact.Address(subjob, ref.Name), ref.Size, ref.MediaType)
	}
	return strings.Join(lines, "\n")
}

// MaxHead is how much the model is shown of what an artifact begins with, in bytes, MaxHeads of how many artifacts.
const (
	MaxHead  = 1000
	MaxHeads = 16
)

// beginnings are what those artifacts begin with that are text, by digest, as data.
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
