package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// expertID is the only expert of the bench, which does nothing.
const expertID = "noop"

// drainTimeout limits the end of a service.
const drainTimeout = 5 * time.Second

// ours is Jobgraph: the three services, each with its own connection.
type ours struct {
	// experts are Go functions in the runner; kit is the rest of its configuration.
	experts []runner.Function
	kit     kit
	// foreign adds a third-party worker.
	foreign bool
}

// kit is a runner's external configuration.
type kit struct {
	// Cards are card files of experts, Config is a configuration file, empty for none.
	Cards  []string `json:"cards,omitempty"`
	Config string   `json:"config,omitempty"`
	// Model is the address of a model, empty for none.
	Model string `json:"model,omitempty"`
	// Concurrency is that of each service, 0 for its default.
	Concurrency int `json:"concurrency,omitempty"`
	// Gateway is where a gateway serves HTTP, empty for none.
	Gateway string `json:"gateway,omitempty"`
}

// noop is the expert that does nothing.
func noop(pure bool) runner.Function {
	return runner.Function{
		Card: events.Card{ID: expertID, Name: expertID, Pure: pure},
		Run: func(context.Context, *runner.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Outcome: events.Success}, nil
		},
	}
}

func (o ours) parts() []part {
	list := []part{
		configured("expert-runner", o.kit, func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			settings := runner.Default()
			settings.Experts, settings.Sandbox = o.kit.Cards, "none" // The runner is measured, not the sandbox, and commands have to connect to the bench.
			if o.kit.Model != "" {
				settings.Model, settings.BaseURL = "scripted", o.kit.Model
			}
			return runner.Run(ctx, p, settings, runner.Deps{Bus: b, Functions: o.experts})
		}),
		service("planner", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			return planner.Run(ctx, p, planner.Default(), planner.Deps{Bus: b})
		}),
		service("scheduler", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			return scheduler.Run(ctx, p, scheduler.Default(), scheduler.Deps{Bus: b})
		}),
	}
	if o.kit.Gateway != "" {
		list = append(list, door(o.kit.Gateway))
	}
	if o.foreign {
		list = append(list, part{"foreign-worker", foreign})
	}
	return list
}

// service runs one of the real services as its own process would, without flags and HTTP.
func service(name string, run func(context.Context, *host.Process, *bus.Bus) error) part {
	return configured(name, kit{}, run)
}

// configured is like service, with a configuration.
func configured(name string, k kit, run func(context.Context, *host.Process, *bus.Bus) error) part {
	return part{name, func(ctx context.Context, at address) error {
		b, err := at.bus(ctx, name)
		if err != nil {
			return err
		}
		defer b.Close()
		work := context.WithoutCancel(ctx)
		settings := host.Settings{
			Config: k.Config, Prefix: events.DefaultPrefix, HTTPAddr: host.AddrOff, Concurrency: k.Concurrency, DrainTimeout: drainTimeout,
		}
		p := host.NewProcess(work, ctx, name, settings, at.log)
		return errors.Join(run(work, p, b), p.Close(work))
	}}
}

func (ours) drive(ctx context.Context, at address, r *reader) (driver, error) {
	b, err := at.bus(ctx, "bench")
	if err != nil {
		return nil, err
	}
	r.also = b.Close
	if err := b.Streams().Init(ctx); err != nil {
		return nil, fmt.Errorf("prepare the bus: %w", err)
	}
	return &oursDriver{r, b}, nil
}

type oursDriver struct {
	*reader
	bus *bus.Bus
}

// announced waits until the catalogue has an expert. With roles a scheduler writes the cards of a runner, which may be ready before it.
func (d *oursDriver) announced(ctx context.Context) error {
	return bus.Await(ctx, func() error {
		cards, err := d.bus.Experts().List(ctx)
		if err == nil && len(cards) == 0 {
			return fmt.Errorf("%w: no expert is announced yet", bus.ErrUnavailable)
		}
		return err
	})
}

// ofEveryJob returns the subject of a kind of event in all jobs.
func (d *oursDriver) ofEveryJob(kind events.Kind, rest string) string {
	return d.bus.Names().Prefix() + ".event.*.*." + string(kind) + rest
}

func (d *oursDriver) run(ctx context.Context, word string, graphs []baseline.Graph) error {
	ends, err := d.listen(2*len(graphs),
		d.ofEveryJob(events.KindJobFinished, ""), d.ofEveryJob(events.KindJobFailed, ""), d.ofEveryJob(events.KindJobStopped, ""))
	if err != nil {
		return err
	}
	defer ends.stop()
	if err := d.submit(ctx, word, graphs); err != nil {
		return err
	}
	return ends.all(ctx, word, graphs, func(subject string, body []byte) (string, error) {
		at, ok := d.bus.Names().Parse(subject)
		if ok && strings.HasPrefix(at.Job, word+"-") && at.Kind != events.KindJobFinished {
			return "", fmt.Errorf("%s: %s: %.500s", at.Job, at.Kind, body)
		}
		return at.Job, nil
	})
}

// submit queues a request for each graph, all at once.
func (d *oursDriver) submit(ctx context.Context, word string, graphs []baseline.Graph) error {
	acks := make([]bus.Ack, len(graphs))
	for i, g := range graphs {
		m, err := d.request(ctx, word+"-"+strconv.Itoa(i), g)
		if err != nil {
			return fmt.Errorf("submit graph %d: %w", i, err)
		}
		acks[i] = d.bus.PublishAsync(m, bus.Expect{})
	}
	for i, ack := range acks {
		if _, err := ack.Wait(ctx); err != nil {
			return fmt.Errorf("submit graph %d: %w", i, err)
		}
	}
	return nil
}

// request returns a request of a client without a user.
func (d *oursDriver) request(ctx context.Context, job string, g baseline.Graph) (events.Message, error) {
	return d.requestOf(ctx, job, "", g)
}

// requestOf returns a client's request; a large plan is stored as a blob.
func (d *oursDriver) requestOf(ctx context.Context, job, user string, g baseline.Graph) (events.Message, error) {
	plan := events.Plan{SubJobs: make([]events.SubJob, len(g))}
	for n, before := range g {
		s := &plan.SubJobs[n]
		s.ID, s.Expert = "n"+strconv.Itoa(n), expertID
		s.Goal = s.ID
		for _, p := range before {
			s.Dependencies = append(s.Dependencies, "n"+strconv.Itoa(p))
		}
	}
	text, err := events.Marshal(&plan)
	if err != nil {
		return events.Message{}, err
	}
	r := events.Request{ID: job, Goal: "bench", User: user, Plan: text}
	if len(text) > bus.InlineLimit {
		ref, err := d.bus.Blobs().Put(ctx, job, text)
		if err != nil {
			return events.Message{}, err
		}
		r.Plan, r.PlanRef = nil, &ref
	}
	body, err := events.Marshal(&r)
	return events.Message{Subject: d.bus.Names().Request(), Body: body, Header: map[string][]string{events.HeaderMsgID: {job}}}, err
}

func (d *oursDriver) starts(ctx context.Context, word string, graphs []baseline.Graph) ([][]int64, error) {
	names := d.bus.Names()
	filter := d.ofEveryJob(events.KindSubJobReported, ".>")
	return d.collect(ctx, names.Log, filter, graphs, func(m jetstream.Msg) (place, int64, error) {
		at, _ := names.Parse(m.Subject())
		var report events.SubJobReported
		err := json.Unmarshal(m.Data(), &report)
		return placeOf(word, at.Job, at.SubJob), report.Started.UnixNano(), err
	})
}

func (d *oursDriver) writes(ctx context.Context) (writes, error) {
	names := d.bus.Names()
	reports, err := d.matching(ctx, names.Log, d.ofEveryJob(events.KindSubJobReported, ".>"))
	if err != nil {
		return writes{}, err
	}
	return d.written(ctx, reports, names.Work, names.Journal)
}
