package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
	"github.com/jobgraph/jobgraph/services/planner/internal/profile"
)

// newModel returns the model that plans: that of d, else that of the settings and the configuration file, else nil. members keep the
// model up to date and must run as long as it is used.
func newModel(p *host.Process, s Settings, d Deps) (model loop.Model, members []host.Member, err error) {
	if d.Model != nil {
		return &caller.Model{Client: d.Model, Shown: d.ModelName}, nil, nil
	}
	m, err := openModels(p, s, d.Doer)
	if err != nil || m == nil {
		return nil, nil, err
	}
	if m.path != "" && !p.Settings.ReadOnce {
		members = append(members, m.follow())
	}
	return m, members, nil
}

// modelMeter implements llm.Meter with the metrics of models.
type modelMeter struct{ *host.ModelMetrics }

// Observe implements llm.Meter.
func (m modelMeter) Observe(o llm.Observation) {
	m.Attempt(o.Model, o.Outcome, o.Tokens(), o.CostUSD, o.Took)
}

// profiles implements loop.Profiles.
type profiles struct{ *profile.Set }

// readProfiles reads the built-in profiles and then the user's folder, which may replace them.
func readProfiles(dir string) (profiles, error) {
	var folder fs.FS
	if dir != "" {
		folder = os.DirFS(dir)
	}
	set, err := profile.Read(folder)
	if err != nil {
		return profiles{}, host.Faults{{Code: events.CodeInvalid, Field: "profiles", Message: fmt.Sprintf("%q cannot be used", dir), Cause: err.Error(), Hint: "put every fault right, or leave the setting out"}}
	}
	return profiles{set}, nil
}

// Profiles lists the names of the built-in profiles, sorted.
func Profiles() []string {
	set, err := readProfiles("")
	if err != nil {
		return nil // Cannot happen: they are embedded, and tested.
	}
	return set.Names()
}

// Find implements loop.Profiles.
func (p profiles) Find(name string) (planning.Profile, string, error) {
	e, found := p.Get(name)
	if !found {
		return planning.Profile{}, "", fmt.Errorf("%.80q is none of %s", name, strings.Join(p.Names(), ", "))
	}
	return e.Profile, p.Version(), nil
}

// list answers jobs.api.profiles.
func (p profiles) list(context.Context, []byte) ([]byte, *events.Fault) {
	var out verb.ProfileList
	standard, _ := p.Get("")
	for _, name := range p.Names() {
		if e, ok := p.Get(name); ok {
			out.Profiles = append(out.Profiles, verb.ProfileLine{Name: name, About: e.About, Default: name == standard.Name})
		}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, &events.Fault{Code: events.CodeInternal, Message: "the profiles cannot be written as JSON", Cause: err.Error()}
	}
	return body, nil
}
