package output

import (
	"fmt"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// DigestShown is how much of a digest is shown: enough to name a file by it.
const DigestShown = 12

// Artifact is a file that a SubJob has made on one line: whose it is and its name, its size, its digest and its type.
func Artifact(subjob string, ref events.Ref) string {
	text := drawing.OneLine(fmt.Sprintf("%s/%s  %s  %s", subjob, ref.Name, Size(ref.Size), ref.Digest[:min(len(ref.Digest), DigestShown)]))
	if ref.MediaType != "" {
		text += "  " + drawing.OneLine(ref.MediaType)
	}
	return text
}

// Size is a number of bytes in few letters.
func Size(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, unit := float64(bytes)/(1<<10), 0
	for ; size >= 1023.95 && unit < 2; unit++ {
		size /= 1 << 10
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMG"[unit])
}
