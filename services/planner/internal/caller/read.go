package caller

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// decomposition is a tag that may surround a plan.
const decomposition = "decomposition"

// Read returns a planning.Reader. trusted is called for each reading with its purpose and its level of trust, "none" if there is no
// JSON.
func Read(trusted func(use, trust string)) planning.Reader {
	return func(text string, want *planning.Wanted) (json.RawMessage, error) {
		o := lenient.Options{Fits: want.Fits, Tags: []string{decomposition}}
		if !want.Careful {
			raw, _, err := lenient.Read(text, o)
			return raw, err
		}
		o.Shape = lenient.ShapeOf(want.Schema)
		r, err := lenient.Examine(text, o)
		switch {
		case err != nil:
			trusted(want.Use, "none")
			return r.JSON, err
		case r.Trust == lenient.Guessed:
			err = &planning.GuessError{Place: r.Doubt.String()}
		}
		trusted(want.Use, r.Trust.String())
		return r.JSON, err
	}
}
