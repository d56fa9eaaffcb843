package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Limits of the time in which the process group of a stopped job ends, in milliseconds: at the 99th percentile, and for
// all.
const (
	mostGone  = 50
	groupGone = 100
)

// groupSize is how many processes a hanging command has: itself and a child.
const groupSize = 2

// cancel stops jobs one after another: with a hanging command, with an endless model stream, with a tool that never
// returns. It measures the time until all processes of the command's group are gone (each holds a connection, which ends
// with it), until the model's server sees its stream closed, and until the tool's server sees its call ended. After each
// stop a late success is reported.
func (p probe) cancel(ctx context.Context, self []string) (list []Measure, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	dir, err := os.MkdirTemp("", "jobgraph-bench-cards-")
	if err != nil {
		return nil, fmt.Errorf("make card: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	card, err := hangCard(dir, self, listener.Addr().String())
	if err != nil {
		return nil, err
	}
	e, err := newEndless(dir)
	if err != nil {
		return nil, err
	}
	defer e.close()
	e.kit.Cards = append(e.kit.Cards, card)
	w := &cancelWatch{endless: e, listener: listener}
	err = p.on(ctx, scene{side: sideHang, kit: e.kit, self: self}, func(ctx context.Context, _ *stage, d *oursDriver) error {
		w.driver, w.client = d, client.New(d.bus)
		for i := range p.Size {
			for _, stop := range []func(context.Context, string) error{w.command, w.stream, w.tool} {
				if err := stop(ctx, strconv.Itoa(i)); err != nil {
					return err
				}
			}
		}
		return w.count(ctx)
	})
	return w.report(), err
}

// cancelWatch stops jobs and records the times.
type cancelWatch struct {
	*endless
	listener net.Listener
	driver   *oursDriver
	client   *client.Client

	gone, closed, ended, stopped []time.Duration // How long groups, streams, calls and jobs took to end.
	jobs                         []string        // The stopped jobs.
	written                      int             // Tokens that models wrote after a stop.
	late                         lateness
}

// report returns what was measured, with the limits.
func (w *cancelWatch) report() []Measure {
	var list []Measure
	for _, x := range []struct {
		what  string
		took  []time.Duration
		worst float64
	}{{"process group gone", w.gone, groupGone}, {"model's stream closed", w.closed, 0}, {"tool's call ended", w.ended, 0}} {
		slices.Sort(x.took)
		worst := value("stop to "+x.what+", worst", "ms", millis(quantile(x.took, 1)))
		if x.worst > 0 {
			worst = limited(worst.Name, worst.Unit, worst.Value, x.worst)
		}
		list = append(list,
			value("stop to "+x.what+", p50", "ms", millis(quantile(x.took, 0.5))),
			limited("stop to "+x.what+", p99", "ms", millis(quantile(x.took, 0.99)), mostGone), worst)
	}
	slices.Sort(w.stopped)
	return append(list,
		value("stop to job STOPPED, p50", "ms", millis(quantile(w.stopped, 0.5))),
		value("stop to job STOPPED, worst", "ms", millis(quantile(w.stopped, 1))),
		value("late results in the log", "results", float64(w.late.said)),
		limited("late results applied", "results", float64(w.late.applied), 0),
		value("tokens that the model wrote behind a stop, mean", "tokens", float64(w.written)/max(1, float64(len(w.closed)))),
		value("tokens of finished answers, told by a run whose tool was cut off, mean", "tokens", float64(w.late.tokens)/max(1, float64(len(w.ended)))))
}

// hangCard writes the card of the hanging command: this program.
func hangCard(dir string, self []string, addr string) (string, error) {
	program, err := filepath.Abs(self[0])
	if err != nil {
		return "", fmt.Errorf("make card: %w", err)
	}
	argv, err := json.Marshal(slices.Concat([]string{program}, self[1:], []string{"hang", addr}))
	if err != nil {
		return "", fmt.Errorf("make card: %w", err)
	}
	path := filepath.Join(dir, "noop.md")
	text := "---\nid: " + expertID + "\nname: " + expertID + "\nkind: command\ncommand: " + string(argv) + "\n---\nNever ends.\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("make card: %w", err)
	}
	return path, nil
}

// command starts a job, waits for its processes, and stops it.
func (w *cancelWatch) command(ctx context.Context, i string) error {
	job := "command-" + i
	if err := w.submit(ctx, job, expertID); err != nil {
		return err
	}
	unblock := context.AfterFunc(ctx, func() { _ = w.listener.Close() })
	defer unblock()
	group := make([]net.Conn, groupSize)
	for k := range group {
		var err error
		if group[k], err = w.listener.Accept(); err != nil {
			return fmt.Errorf("wait for the command of %s: %w", job, err)
		}
	}
	begin, done := time.Now(), make(chan struct{})
	go func() { // Ends with the processes, and is waited for below.
		defer close(done)
		for _, conn := range group {
			_, _ = io.Copy(io.Discard, conn) // Ends when the process does, with or without an error.
			_ = conn.Close()
		}
		w.gone = append(w.gone, time.Since(begin))
	}()
	err := w.stop(ctx, job, begin)
	if err != nil {
		for _, conn := range group {
			_ = conn.Close()
		}
	}
	<-done
	return err
}

// stream starts a job, waits until its model answers, and stops it.
func (w *cancelWatch) stream(ctx context.Context, i string) error {
	before, begin, err := w.halt(ctx, "stream-"+i, streamGoal, w.speaking)
	if err != nil {
		return err
	}
	end, err := await(ctx, w.silent)
	w.closed = append(w.closed, end.at.Sub(begin))
	w.written += end.written - before
	return err
}

// tool starts a job, waits until its tool is called, and stops it.
func (w *cancelWatch) tool(ctx context.Context, i string) error {
	_, begin, err := w.halt(ctx, "tool-"+i, callGoal, w.called)
	if err != nil {
		return err
	}
	at, err := await(ctx, w.left)
	w.ended = append(w.ended, at.Sub(begin))
	return err
}

// halt starts a job of the agent, waits until it has begun, and stops it. It returns how much the model had written by
// then.
func (w *cancelWatch) halt(ctx context.Context, job, goal string, begun <-chan struct{}) (written int, begin time.Time, err error) {
	if err := w.submit(ctx, job, agentID, goal); err != nil {
		return 0, begin, err
	}
	if _, err := await(ctx, begun); err != nil {
		return 0, begin, fmt.Errorf("wait for the agent of %s: %w", job, err)
	}
	written, begin = int(w.tokens.Load()), time.Now()
	return written, begin, w.stop(ctx, job, begin)
}

// submit submits a job of one SubJob.
func (w *cancelWatch) submit(ctx context.Context, job, expert string, goal ...string) error {
	step := events.SubJob{ID: hungID, Goal: strings.Join(append(goal, "without end"), " "), Expert: expert}
	plan, err := events.Marshal(&events.Plan{SubJobs: []events.SubJob{step}})
	if err != nil {
		return err
	}
	if _, err = w.client.Submit(ctx, events.Request{ID: job, Goal: "hang", Plan: plan}); err != nil {
		return fmt.Errorf("submit %s: %w", job, err)
	}
	return nil
}

// stop stops a job, and then reports a success of its run, as a worker would that missed the stop.
func (w *cancelWatch) stop(ctx context.Context, job string, begin time.Time) error {
	if err := w.client.Stop(ctx, job, events.StopRequested{Reason: "bench"}); err != nil {
		return fmt.Errorf("stop %s: %w", job, err)
	}
	w.stopped, w.jobs = append(w.stopped, time.Since(begin)), append(w.jobs, job)
	m, err := events.Encode(w.client.Names(), events.Event{
		Kind: events.KindSubJobReported, ID: job + "/late", Job: job, SubJob: hungID, Run: 1, Source: "bench",
		Data: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"late"`)},
	})
	if err != nil {
		return err
	}
	_, err = w.driver.bus.Publish(ctx, m, bus.Expect{})
	return err
}

// count reads the logs of all stopped jobs once everything is settled.
func (w *cancelWatch) count(ctx context.Context) error {
	if err := w.driver.settled(ctx); err != nil {
		return err
	}
	for _, job := range w.jobs {
		if err := w.late.read(w.driver.bus.Log().EventsOf(ctx, job, 0)); err != nil {
			return fmt.Errorf("read the log of %s: %w", job, err)
		}
	}
	return nil
}

// hang is the hanging command: it connects, starts itself a second time, and waits to be killed. Without the connection it ends.
func hang(ctx context.Context, self []string, addr string, first bool) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("connect to the bench: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // A program that catches signals has to end by itself.
	if first {
		cmd := command(ctx, self, "hang", addr, "again")
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start a child: %w", err)
		}
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}
