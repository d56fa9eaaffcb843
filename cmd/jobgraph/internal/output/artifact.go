package output

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// DigestShown is how much of a digest is shown: enough to identify a file.
const DigestShown = 12

// Artifact formats a file on one line: its SubJob and name, size, digest and type.
func Artifact(subjob string, ref events.Ref) string {
	text := drawing.OneLine(fmt.Sprintf("%s/%s  %s  %s", subjob, ref.Name, Size(ref.Size), ref.Digest[:min(len(ref.Digest), DigestShown)]))
	if ref.MediaType != "" {
		text += "  " + drawing.OneLine(ref.MediaType)
	}
	return text
}

// Size formats a number of bytes briefly.
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
