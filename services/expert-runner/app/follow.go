package app

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/adapter"
)

// lookEvery is how often the files are read again. Reading is needed because files that they refer to may change, and mounted
// files are replaced without notification.
const lookEvery = 2 * time.Second

const (
	// announceEvery is the interval of announcements of cards, announceAgain the wait after one that failed.
	announceEvery = adapter.CardTTL / 3
	announceAgain = time.Second
)

// noteFaulty names the note about files with faults.
const noteFaulty = "experts"

// follower keeps experts, models, pools and cards up to date with the files. Its goroutine owns the catalog.
type follower struct {
	*runner
	pools *pools
	cards *adapter.Announcer
	// sign says when the next announcement is due; failed is true if the latest one failed.
	sign   *time.Timer
	failed bool
	// said is the last logged text about faults; "" while there are none.
	said string
	// changes counts readings that changed something or failed; faults is the current number of faults.
	changes *prometheus.CounterVec
	faults  prometheus.Gauge
}

func newFollower(r *runner, p *pools) *follower {
	return &follower{
		runner: r, pools: p, cards: adapter.NewAnnouncer(r.bus, r.owner, r.catalog.cards(), p.takes, r.process.Secrets, r.process.Log),
		sign:    time.NewTimer(announceEvery),
		changes: r.process.Metrics.Counter("jobgraph_runner_catalog_reloads_total", "Readings of the files of experts that brought something new: changed, faulty.", "result"),
		faults:  r.process.Metrics.Gauge("jobgraph_runner_catalog_faults", "Faults in the files of experts as they stand; the experts are those before them.").WithLabelValues(),
	}
}

// run announces the experts repeatedly, also when the bus is back, and checks the files at intervals. After ctx it announces them once
// more.
func (f *follower) run(ctx context.Context, ready func()) error {
	if err := bus.Await(ctx, func() error { return f.cards.Announce(ctx) }); err != nil {
		return err
	}
	f.process.Log.Info("experts announced", "experts", f.catalog.ids(), "owner", f.owner)
	f.process.Ready()
	ready()
	defer f.sign.Stop()
	back := make(chan struct{}, 1)
	defer f.bus.OnReconnect(func() {
		select {
		case back <- struct{}{}:
		default: // An announcement is already due.
		}
	})()
	var look <-chan time.Time
	if !f.process.Settings.ReadOnce && (f.process.Settings.Config != "" || len(f.settings.Experts) > 0) {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		look = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			f.cards.Leave(context.WithoutCancel(ctx))
			return nil
		case <-look:
			f.look(ctx)
		case <-f.pools.opened:
			f.announce(ctx)
		case <-back: // The cards may have expired.
			f.announce(ctx)
		case <-f.sign.C:
			f.announce(ctx)
		}
	}
}

// announce announces the cards; after a failure the next attempt comes soon.
func (f *follower) announce(ctx context.Context) {
	err := f.cards.Announce(ctx)
	if err == nil {
		f.failed = false
		f.sign.Reset(announceEvery)
		return
	}
	f.sign.Reset(announceAgain)
	if !f.failed && ctx.Err() == nil {
		f.process.Log.Warn("cannot announce cards; retrying", "error", err)
	}
	f.failed = true
}

// look reads the files. Faults are logged once and change nothing.
func (f *follower) look(ctx context.Context) {
	read := readBook(f.process.Settings.Config, f.settings.Experts, f.process.Env)
	f.process.Secrets.Add(read.secrets...)
	m := newModels(&read.config, &f.settings)
	m.follow(f.catalog.models)
	m.boxes = f.catalog.models.boxes
	if !reflect.DeepEqual(m.tools, f.catalog.models.tools) {
		m.boxes = newToolboxes(&m.tools, f.process.Settings.Config, &f.settings, f.process)
	}
	read.standIn(m, f.functions, &f.settings)
	next, err := newCatalog(&f.settings, read, f.functions, m, f.catalog)
	if err != nil {
		f.discard(m.boxes)
		f.faulty(err)
		return
	}
	if f.said != "" {
		f.said = ""
		f.faults.Set(0)
		f.process.Health.Unnote(noteFaulty)
		f.process.Log.Info("the files of experts are valid again")
	}
	if !reflect.DeepEqual(m.config, f.catalog.models.config) {
		if err := m.engine.Set(m.config); err != nil {
			f.process.Log.Warn("models not changed", "error", err)
			shut(next.made)
			f.discard(m.boxes)
			return
		}
		f.process.Log.Info("models changed", "models", m.names, "default", m.standard)
	}
	next.attach(f.bus)
	f.change(ctx, next)
}

// discard closes toolboxes that were never used.
func (f *follower) discard(boxes *toolboxes) {
	if boxes != f.catalog.models.boxes {
		boxes.close()
	}
}

func (f *follower) faulty(err error) {
	text := err.Error()
	if text == f.said {
		return
	}
	f.said = text
	var faults host.Faults
	_ = errors.As(err, &faults) // newCatalog has no other errors.
	f.changes.WithLabelValues("faulty").Inc()
	f.faults.Set(float64(len(faults)))
	f.process.Health.Note(noteFaulty, "the files are faulty, the experts are those from before: "+text)
	f.process.Log.Warn("experts not changed: their files are faulty", "error", text)
}

// change replaces the catalog: removed cards are withdrawn first, new ones are announced once their work is taken.
func (f *follower) change(ctx context.Context, next *catalog) {
	before := f.catalog
	f.catalog = next
	if before.models.boxes != next.models.boxes {
		next.models.boxes.entrust(f.process)
		defer before.models.boxes.retire() // Only when no new reference to them can be taken.
	}
	gone := slices.DeleteFunc(before.ids(), func(id string) bool { return next.experts[id] != nil })
	changed := slices.DeleteFunc(next.ids(), func(id string) bool { return next.experts[id] == before.experts[id] })
	if len(gone)+len(changed) == 0 {
		return
	}
	f.cards.Set(next.cards())
	for _, id := range gone {
		if err := f.cards.Withdraw(ctx, id); err != nil {
			f.process.Log.Warn("cannot withdraw card; it will expire", "expert", id, "within", adapter.CardTTL, "error", err)
		}
	}
	f.loop.Serve(next.experts)
	if err := f.prepare(ctx); err != nil {
		f.process.Log.Warn("cannot create or limit the consumers of pools", "error", err)
	}
	f.pools.want(f.windows())
	f.announce(ctx)
	f.changes.WithLabelValues("changed").Inc()
	f.process.Log.Info("experts changed", "new", changed, "withdrawn", gone)
}
