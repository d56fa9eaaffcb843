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
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// groupGone is how long the process group of a stopped job may live, in milliseconds.
const groupGone = 100

// groupSize is how many processes one hanging command is: itself and a child.
const groupSize = 2

// cancel stops jobs whose command hangs, one after another, and measures until every process of its group is gone: each holds
// a connection, which ends with it.
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
	var gone, stopped []time.Duration
	err = p.on(ctx, scene{side: sideHang, cards: []string{card}, self: self}, func(ctx context.Context, _ *stage, d *oursDriver) error {
		for i := range p.Size {
			g, s, err := stopOne(ctx, d, listener, "hang-"+strconv.Itoa(i))
			if err != nil {
				return err
			}
			gone, stopped = append(gone, g), append(stopped, s)
		}
		return nil
	})
	slices.Sort(gone)
	slices.Sort(stopped)
	return []Measure{
		value("stop to process group gone, p50", "ms", millis(quantile(gone, 0.5))),
		limited("stop to process group gone, worst", "ms", millis(quantile(gone, 1)), groupGone),
		value("stop to job STOPPED, p50", "ms", millis(quantile(stopped, 0.5))),
		value("stop to job STOPPED, worst", "ms", millis(quantile(stopped, 1))),
	}, err
}

// hangCard writes the card of the command that hangs: this program again.
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

// stopOne runs a job until its processes are there, and stops it.
func stopOne(ctx context.Context, d *oursDriver, listener net.Listener, job string) (gone, stopped time.Duration, err error) {
	c := client.New(d.bus)
	if _, err = c.Submit(ctx, events.Request{ID: job, Goal: "hang", Expert: expertID}); err != nil {
		return 0, 0, fmt.Errorf("submit %s: %w", job, err)
	}
	unblock := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer unblock()
	group := make([]net.Conn, groupSize)
	for i := range group {
		if group[i], err = listener.Accept(); err != nil {
			return 0, 0, fmt.Errorf("wait for the command of %s: %w", job, err)
		}
	}
	begin, done := time.Now(), make(chan struct{})
	go func() { // Ends with the processes; waited for below.
		defer close(done)
		for _, conn := range group {
			_, _ = io.Copy(io.Discard, conn) // Ends when the process does, whatever that looks like.
			_ = conn.Close()
		}
		gone = time.Since(begin)
	}()
	err = c.Stop(ctx, job, events.StopRequested{Reason: "bench"})
	stopped = time.Since(begin)
	if err != nil {
		for _, conn := range group {
			_ = conn.Close()
		}
	}
	<-done
	return gone, stopped, err
}

// hang is the command: it connects, starts itself once more, and waits to be killed. Without the connection it ends.
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
