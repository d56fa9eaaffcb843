package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

// floorSystem is the baseline: a scheduler and a worker, which claims each node before it runs if claims is true.
type floorSystem struct{ claims bool }

func (f floorSystem) parts() []part {
	over := func(name string, run func(context.Context, jetstream.JetStream) error) part {
		return part{name, func(ctx context.Context, at address) error {
			nc, err := at.dial(name)
			if err != nil {
				return err
			}
			defer nc.Close()
			js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(slowest))
			if err != nil {
				return fmt.Errorf("open JetStream: %w", err)
			}
			return run(ctx, js)
		}}
	}
	work := baseline.Work
	if f.claims {
		work = baseline.ClaimAndWork
	}
	return []part{over("floor-scheduler", baseline.Schedule), over("floor-worker", work)}
}

func (floorSystem) drive(ctx context.Context, _ address, r *reader) (driver, error) {
	return &floorDriver{r}, baseline.Init(ctx, r.js)
}

type floorDriver struct{ *reader }

func (d *floorDriver) run(ctx context.Context, word string, graphs []baseline.Graph) error {
	ends, err := d.listen(2*len(graphs), "floor.log.*.finished")
	if err != nil {
		return err
	}
	defer ends.stop()
	acks := make([]jetstream.PubAckFuture, len(graphs))
	for i, g := range graphs {
		body, err := json.Marshal(g)
		if err == nil {
			acks[i], err = d.js.PublishAsync("floor.log."+word+"-"+strconv.Itoa(i)+".graph", body)
		}
		if err != nil {
			return fmt.Errorf("submit graph %d: %w", i, err)
		}
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("submit graphs: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ends.all(ctx, word, graphs, func(subject string, _ []byte) (string, error) { return strings.Split(subject, ".")[2], nil })
}

func (d *floorDriver) starts(ctx context.Context, word string, graphs []baseline.Graph) ([][]int64, error) {
	return d.collect(ctx, baseline.LogStream, "floor.log.*.done.*", graphs, func(m jetstream.Msg) (place, int64, error) {
		t := strings.Split(m.Subject(), ".")
		at, err := strconv.ParseInt(string(m.Data()), 10, 64)
		return placeOf(word, t[2], t[4]), at, err
	})
}

func (d *floorDriver) writes(ctx context.Context) (writes, error) {
	done, err := d.matching(ctx, baseline.LogStream, "floor.log.*.done.*")
	if err != nil {
		return writes{}, err
	}
	return d.written(ctx, done, baseline.WorkStream, baseline.JournalStream)
}
