package finish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// mostArtifacts limits the files of a result.
const mostArtifacts = 256

// links lists files as Markdown links, in the form in which texts cite them.
func links(subjob string, refs []events.Ref) string {
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = fmt.Sprintf("- [%s](%s), %d bytes", bracket.Replace(ref.Name), artifact.Address(subjob, ref.Name), ref.Size)
	}
	return strings.Join(lines, "\n")
}

// bracket replaces characters that would end the text of a Markdown link.
var bracket = strings.NewReplacer("[", "(", "]", ")", "\n", " ")

// Attach adds the files of each SubJob's result to the text of its step. The files of the last steps also become the files
// of the job's result, named SUBJOB/NAME. Sources that point at a file that does not exist are removed: the model invented
// them.
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
