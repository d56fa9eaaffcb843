package process

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Pipes are the runner's ends of a program's standard streams. They are made by hand, because those of os/exec would wait for
// grandchildren.
type Pipes struct {
	// Stdin is written by the runner; Stdout and Stderr are read by it.
	Stdin, Stdout, Stderr *os.File
	childs                []*os.File
}

// Connect makes the pipes of a program that was not started yet.
func Connect(cmd *exec.Cmd) (*Pipes, error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		var err error
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			shut(ends[:i])
			return nil, fmt.Errorf("start program: %w", err)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0], ends[3], ends[5]
	return &Pipes{Stdin: ends[1], Stdout: ends[2], Stderr: ends[4], childs: []*os.File{ends[0], ends[3], ends[5]}}, nil
}

// Started closes our copies of the program's ends, whether or not it was started.
func (p *Pipes) Started() { shut(p.childs) }

// Until sets a deadline for reading and writing: a child that left its group may hold the pipes for ever.
func (p *Pipes) Until(deadline time.Time) {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		_ = f.SetDeadline(deadline) // Pipes of the runtime's poller always accept one.
	}
}

// Close closes the runner's ends. It may be called more than once.
func (p *Pipes) Close() {
	p.Mute()
	shut([]*os.File{p.Stderr})
}

// Mute closes standard input and output. Standard error is still read.
func (p *Pipes) Mute() { shut([]*os.File{p.Stdin, p.Stdout}) }

func shut(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // It may be closed already.
	}
}
