package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// runPart is the main function of a child: it starts what the order names, says "ready", answers each line "usage" with its
// usage as JSON, and ends when its input does. It returns the error of the part.
func runPart(ctx context.Context, o order, in io.Reader, out io.Writer, log *slog.Logger) (err error) {
	stop, err := profile(o.Profile, o.Side+"-"+o.Part)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if o.Part == serverPart {
		s, err := startServer(o, true)
		if err != nil {
			return err
		}
		defer stopServer(s)
		return answer(in, out, s.ClientURL())
	}
	sys, err := systemOf(o.Side, o.Kit)
	if err != nil {
		return err
	}
	for _, p := range sys.parts() {
		if p.name == o.Part {
			return accompany(ctx, p, address{url: o.URL, log: log, secure: o.Secure}, in, out)
		}
	}
	return fmt.Errorf("part %q: there is none of this name in %s", o.Part, o.Side)
}

// accompany runs a part while the input is open. A part that fails by itself ends the process at once.
func accompany(ctx context.Context, p part, at address, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	talked := make(chan error, 1)
	go func() { // Ends with the input, or with the process.
		talked <- answer(in, out, "")
		cancel()
	}()
	err := p.run(ctx, at)
	if ctx.Err() == nil {
		return errors.Join(err, errors.New(p.name+" ended by itself"))
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, <-talked)
}

// answer says "ready" and then answers requests, until the input ends.
func answer(in io.Reader, out io.Writer, about string) error {
	if _, err := fmt.Fprintln(out, "ready", about); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := json.NewEncoder(out).Encode(ownUsage()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// profile records a CPU profile until stop is called; without a folder it does nothing.
func profile(dir, name string) (stop func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(dir, name+".pprof"))
	if err != nil {
		return nil, fmt.Errorf("make profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("make profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
