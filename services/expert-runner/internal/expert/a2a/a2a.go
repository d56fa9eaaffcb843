package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// cardAge is how long a fetched card is used before it is fetched again.
const cardAge = 5 * time.Minute

// Expert is a remote agent. It is safe for concurrent use.
type Expert struct {
	config Config
	schema *schema.Schema
	dialer *dialer
	given  *Card // The configured card; nil if the card has to be fetched.

	turn    chan struct{} // Holds one token, which guards the fields below and is kept during a fetch, so that one fetch serves all.
	fetched *Card
	until   time.Time
}

// New checks the configuration and makes the expert; errors are events.Faults. A card in a file is read relative to dir. A
// card that has to be fetched is fetched by the first run, since an agent may be down when the runner starts.
func New(c Config, dir string) (*Expert, error) {
	faults := c.Faults()
	x := &Expert{config: c.complete(), turn: make(chan struct{}, 1)}
	var err error
	if c.Card != nil {
		if x.given, err = givenCard(c.Card, dir); err != nil {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "card", Message: err.Error()})
		}
	}
	if c.Schema != nil {
		if x.schema, err = schema.Read(c.Schema); err != nil {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "output_schema", Message: err.Error()})
		}
	}
	if err := faults.OrNil(); err != nil {
		return nil, err
	}
	ranges, err := egress.Ranges(c.AllowAddresses)
	if err != nil {
		return nil, err
	}
	host := ""
	if x.given != nil {
		host = x.given.endpoint.Host
	} else if at, err := url.Parse(c.Agent); err == nil {
		host = at.Host
	}
	x.dialer = newDialer(ranges, c.Headers, host)
	return x, nil
}

// givenCard returns a configured card: a file, or the card itself.
func givenCard(given any, dir string) (*Card, error) {
	if name, ok := given.(string); ok {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the agent's card cannot be read: %w", err)
		}
		return ReadCard(raw)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, errors.New("the agent's card is no JSON: use texts as keys")
	}
	return ReadCard(raw)
}

// Given returns the configured card, nil if the card has to be fetched.
func (x *Expert) Given() *Card { return x.given }

// Run implements expert.Runner.
func (x *Expert) Run(ctx context.Context, t *expert.Task) task.Ending {
	form := x.schema
	if own := t.Work.Spec.OutputSchema; own != nil {
		var err error
		if form, err = schema.Read(own); err != nil {
			return task.Failure(events.CodeInvalid, "the SubJob's output_schema cannot be used", err.Error(), "correct the plan")
		}
	}
	card, err := x.card(ctx)
	if err != nil {
		return unreached(err)
	}
	r := &run{
		config: &x.config, card: card, peer: newRemote(card, x.dialer, x.config.MaxBytes, x.config.Secrets.Redactor()), host: card.endpoint.Host, form: form, task: t, live: live{task: t, redactor: x.config.Secrets.Redactor()},
		record: &record{}, streams: x.config.Mode == ModeStream || x.config.Mode == "" && card.streaming,
	}
	return r.run(ctx)
}

// unreached is the ending for an agent that cannot be reached at all.
func unreached(err error) task.Ending {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.ending()
	}
	return task.Failure(events.CodeUnavailable, "the agent's card could not be had", err.Error(), "see that the agent runs, and that its address is right")
}
