package turn

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
