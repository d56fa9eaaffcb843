package app

import (
	"context"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// lookEvery is how often the configuration file is read again. Key files that it names change without a change of the file,
// and mounted files are replaced without a notification.
const lookEvery = 2 * time.Second

// models are the configured models, which may change while the planner runs.
type models struct {
	engine  *llm.Engine
	path    string
	env     host.Env
	own     Settings
	log     *slog.Logger
	secrets *redact.Set
	now     llm.Config // The last configuration that the engine got, and the last fault logged since. Only reload uses them.
	said    string
	current atomic.Pointer[caller.Model] // The default model; nil if there is none.
}

// openModels reads settings and file. Without a file the models never change.
func openModels(p *host.Process, s Settings, doer llm.Doer) (*models, error) {
	m := &models{path: p.Settings.Config, env: p.Env, own: s, log: p.Log, secrets: p.Secrets}
	config, name, shown, err := m.read()
	if err != nil {
		return nil, err
	}
	if len(config) == 0 && m.path == "" {
		return nil, nil
	}
	m.engine, err = llm.New(config, llm.Settings{Doer: doer, Meter: modelMeter{p.Metrics.Models()}, Secrets: p.Secrets})
	if err != nil {
		return nil, err
	}
	p.Cleanup("models", 0, func(context.Context) error { m.engine.Close(); return nil })
	m.use(config, name, shown)
	return m, nil
}

func (m *models) read() (config llm.Config, name, shown string, err error) {
	c, err := readConfig(m.path, m.env, &m.own)
	m.secrets.Add(c.secrets...)
	if err != nil {
		return nil, "", "", err
	}
	return c.choose(m.own)
}

func (m *models) use(config llm.Config, name, shown string) {
	m.now = config
	if name == "" {
		m.current.Store(nil)
		return
	}
	m.current.Store(&caller.Model{Client: m.engine, Default: name, Shown: shown})
}

// reload reads the file again. A faulty file is logged once and changes nothing. Running calls keep the configuration that
// they began with.
func (m *models) reload() {
	config, name, shown, err := m.read()
	if err != nil {
		if text := err.Error(); text != m.said {
			m.said = text
			m.log.Warn("models not changed: the configuration file is faulty", "error", text)
		}
		return
	}
	m.said = ""
	was := m.current.Load()
	if reflect.DeepEqual(config, m.now) && (was == nil) == (name == "") && (was == nil || was.Default == name) {
		return
	}
	if err := m.engine.Set(config); err != nil {
		m.log.Warn("models not changed", "error", err)
		return
	}
	m.use(config, name, shown)
	m.log.Info("models changed", "models", config.Names(), "default", name)
}

// follow returns the member that keeps the models up to date.
func (m *models) follow() host.Member {
	return host.Every(sectionModels, lookEvery, func(context.Context) { m.reload() })
}

// Name implements loop.Model.
func (m *models) Name(r *events.Request) string {
	if current := m.current.Load(); current != nil {
		return current.Name(r)
	}
	return ""
}

// Ask implements loop.Model.
func (m *models) Ask(ctx context.Context, q *loop.Question) (planning.Fact, error) {
	if current := m.current.Load(); current != nil {
		return current.Ask(ctx, q)
	}
	return planning.Fact{Kind: planning.Failed, Class: planning.ClassNotFound, Message: "no model is configured any more"}, nil
}

var _ loop.Model = (*models)(nil)
