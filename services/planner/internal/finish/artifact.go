package finish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// mostArtifacts bounds the files that belong to a result.
const mostArtifacts = 256

// links lists files as they are cited.
func links(subjob string, refs []events.Ref) string {
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = fmt.Sprintf("- [%s](%s), %d bytes", bracket.Replace(ref.Name), artifact.Address(subjob, ref.Name), ref.Size)
	}
	return strings.Join(lines, "\n")
}

// bracket takes away what would end the text of a link.
var bracket = strings.NewReplacer("[", "(", "]", ")", "\n", " ")

// Attach takes the files that results have come with, by SubJob, and lists them behind the words of their steps. Those of the last steps belong to the result, under SUBJOB/NAME. A
// source that is a file of the job stays only when there is that file: any other one is invented.
func (m *Material) Attach(files map[string][]events.Ref) {
	known := map[string]bool{}
	for i := range m.Steps {
		s := &m.Steps[i]
		if len(files[s.ID]) > 0 {
			s.Text = strings.TrimSpace(s.Text + "\n\n" + links(s.ID, files[s.ID]))
		}
		for _, ref := range files[s.ID] {
			known[artifact.Address(s.ID, ref.Name)] = true
			if s.Last && len(m.Artifacts) < mostArtifacts {
				ref.Name = s.ID + "/" + ref.Name
				m.Artifacts = append(m.Artifacts, ref)
			}
		}
	}
	m.Sources = slices.DeleteFunc(m.Sources, func(s Source) bool {
		return strings.HasPrefix(s.URL, artifact.Scheme) && !known[s.URL]
	})
}
