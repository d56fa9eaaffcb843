package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
)

// Settings configures a campaign.
type Settings struct {
	// Self starts the server: a program and the arguments that lead to ServerCommand.
	Self []string
	// Programs is the folder with planner, scheduler and expert-runner. Other is such a folder of another release, from
	// which half of the services are started; it may be empty.
	Programs, Other string
	// Seed determines faults and jobs; the same seed gives the same faults in the same order.
	Seed uint64
	// Duration is how long faults happen. Faults, if not 0, is the number of faults after which they end earlier.
	Duration time.Duration
	Faults   int
	// Servers is 1, or 3 for a cluster.
	Servers int
	// Rolling replaces services of the other release by those of this one and back, through every mix, instead of faults.
	// Worker is the command line of a third-party worker, to which the name of its pool is appended; may be empty.
	Rolling bool
	Worker  string
	// Roles is a folder of `jobgraph init --secure`, of either release: everyone has its key and its role on the bus. It is empty for a
	// bus without roles.
	Roles string
	// Log gets a line per fault. With Keep, the folder of the campaign is kept.
	Log  io.Writer
	Keep bool
}

const (
	// lease is the lease of runs in a campaign: short, so that most faults last longer.
	lease = 3 * time.Second
	// orphanAfter is how long a program continues after its runner can no longer renew its claim: it ends before another runner may
	// take the run over.
	orphanAfter = 2 * time.Second
	// jobsAtOnce limits how many unfinished jobs the campaign has at any time.
	jobsAtOnce = 24
	// calm is how long after the last fault no job may end before the campaign considers the rest lost.
	calm = 2 * time.Minute
	// pauseLeast and pauseMost limit the pause between two faults.
	pauseLeast, pauseMost = 300 * time.Millisecond, 1500 * time.Millisecond
	// One fault in aimedOf comes after its pause, whatever runs then. The others wait until a program is at work, for at most aimMost, and
	// check every aimEvery: while processes are down no program works, and a fault that hits none proves less. When three of four faults
	// were aimed, hardly any program reached its end.
	aimedOf           = 2
	aimMost, aimEvery = 5 * time.Second, 20 * time.Millisecond
)

// Run runs a campaign. An error means that it could not run; its findings are in the report.
func Run(ctx context.Context, s Settings) (r *Report, err error) {
	dir, err := os.MkdirTemp("", "jobgraph-chaos-")
	if err != nil {
		return nil, err
	}
	if s.Keep {
		_, _ = fmt.Fprintln(s.Log, "everything is in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	f := &fleet{Settings: s, dir: dir}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	c, err := f.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if !f.boxes {
		_, _ = fmt.Fprintln(s.Log, "NOT TESTED HERE: programs at sandbox level landlock, which this system does not have")
	}
	load := newLoad(c, rand.New(rand.NewPCG(s.Seed, 2)), filepath.Join(dir, "marks"), f.boxes)
	load.worker = s.Worker != ""
	faults := newFaults(f, load, rand.New(rand.NewPCG(s.Seed, 1)))
	strike := faults.run
	if s.Rolling {
		strike = faults.roll
	}
	left, err := under(ctx, load, s.Rolling, s.Log, strike)
	if err != nil {
		return nil, err
	}
	return judge(ctx, c, load, faults, left)
}

// under runs the load while strike is active, and waits until its jobs have ended. left are the jobs that a scheduler
// quarantined in the meantime, however they ended.
func under(ctx context.Context, l *load, fast bool, log io.Writer, strike func(context.Context) error) (left []string, err error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	seen := map[string]bool{}
	unwatch, err := l.client.Bus().State().Watch(working, nil, func(e bus.Entry) {
		if head, ok := kept.ReadHead(e.Value); ok && head.Quarantined != nil && !seen[e.Key] {
			seen[e.Key] = true
			_, _ = fmt.Fprintf(log, "%s is in quarantine: %s\n", e.Key, head.Quarantined.Error())
		}
	})
	if err != nil {
		return nil, err
	}
	quiet, err := l.hear()
	if err != nil {
		return nil, err // The context ends the watch.
	}
	defer quiet()
	var all sync.WaitGroup
	all.Go(func() { l.run(working) }) // Ends with its context, like all of them; waited for below.
	if fast {
		for i := range streams {
			all.Go(func() { l.stream(working, fmt.Sprintf("q%d-", i)) })
		}
	}
	err = strike(ctx)
	l.close()
	if err == nil {
		err = l.settle(ctx)
	}
	stop()
	all.Wait()
	unwatch()
	return slices.Sorted(maps.Keys(seen)), err
}
