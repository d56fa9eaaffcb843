package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// company runs the server and each part as a separate process.
type company struct {
	self  []string
	order order
	fail  func(error) // Called if a child ends by itself.
	procs []*process
}

// process is a child that speaks the protocol of runPart on its standard input and output.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	said chan string // Its lines; closed at the end of its output.
	// asked is true once it was asked to end.
	asked atomic.Bool
}

// farewell limits the time in which a child ends.
const farewell = 15 * time.Second

// newCompany starts the server. Its result has to be ended even after an error.
func newCompany(ctx context.Context, c scene, o order) (*company, address, error) {
	k := &company{self: c.self, order: o, fail: c.fail}
	o.Part = serverPart
	url, err := k.start(ctx, o)
	k.order.URL = url
	return k, address{url: url, log: c.log, secure: o.Secure}, err
}

func (c *company) add(ctx context.Context, p part) error {
	o := c.order
	o.Part = p.name
	_, err := c.start(ctx, o)
	return err
}

// start starts a child and reads its first line, "ready" and its address.
func (c *company) start(ctx context.Context, o order) (string, error) {
	cmd, err := child(ctx, c.self, "part", o)
	if err != nil {
		return "", err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", fmt.Errorf("start %s: %w", o.Part, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("start %s: %w", o.Part, err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", o.Part, err)
	}
	p := &process{name: o.Part, cmd: cmd, in: in, said: make(chan string, 1)}
	c.procs = append(c.procs, p)
	go p.listen(out, c.fail)
	said, ready := strings.CutPrefix(<-p.said, "ready")
	if !ready {
		return "", fmt.Errorf("start %s: it ended before it was ready; its last words are on standard error", o.Part)
	}
	return strings.TrimSpace(said), nil
}

// listen forwards the child's output and ends with it. A child that ends by itself fails the trial.
func (p *process) listen(out io.Reader, fail func(error)) {
	defer close(p.said)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.said <- lines.Text()
	}
	if !p.asked.Load() {
		fail(fmt.Errorf("%s ended unasked; its last words are on standard error", p.name))
	}
}

// child prepares this program with a hidden command and an order in JSON.
func child(ctx context.Context, self []string, name string, order any) (*exec.Cmd, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("encode order of %s: %w", name, err)
	}
	return command(ctx, self, name, string(text)), nil
}

// command prepares this program with arguments.
func command(ctx context.Context, self []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, self[0], slices.Concat(self[1:], args)...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // It cleans up, and is killed if that takes too long.
	cmd.WaitDelay = farewell
	return cmd
}

func (c *company) usage() (usage, error) {
	var sum usage
	for _, p := range c.procs {
		u, err := p.ask()
		if err != nil {
			return sum, fmt.Errorf("ask %s: %w", p.name, err)
		}
		sum = sum.plus(u)
	}
	return sum, nil
}

// ask asks a child for its usage.
func (p *process) ask() (usage, error) {
	var u usage
	if _, err := io.WriteString(p.in, "usage\n"); err != nil {
		return u, err
	}
	line, open := <-p.said
	if !open {
		return u, io.ErrUnexpectedEOF
	}
	return u, json.Unmarshal([]byte(line), &u)
}

// of returns the usage of one part.
func (c *company) of(name string) (usage, error) {
	for _, p := range c.procs {
		if p.name == name {
			return p.ask()
		}
	}
	return usage{}, fmt.Errorf("no part is called %s", name)
}

func (c *company) end() error {
	var err error
	for i := len(c.procs) - 1; i >= 0; i-- {
		err = errors.Join(err, c.procs[i].end())
	}
	return err
}

// end closes the child's input, which asks it to end, and kills it if it does not.
func (p *process) end() error {
	p.asked.Store(true)
	err := p.in.Close()
	late := time.AfterFunc(farewell, func() { _ = p.cmd.Process.Kill() }) // It may have ended in the meantime.
	defer late.Stop()
	for range p.said { // Its remaining output has to be read before waiting for it.
	}
	if wait := p.cmd.Wait(); wait != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", p.name, wait))
	}
	return err
}
