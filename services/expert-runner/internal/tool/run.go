package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// Run is the name of the tool that runs programs.
const Run = "run"

// Limits of the tool.
const (
	// DefaultTimeout is how long a program may run unless the call says otherwise, MostTimeout the most that a call may ask for.
	DefaultTimeout = 2 * time.Minute
	MostTimeout    = 30 * time.Minute
	// maxCommand limits the text of a command, in bytes: on Linux an argument of a program has at most 128 KiB.
	maxCommand = 100 << 10
)

// Script is a program that the model wrote.
type Script struct {
	// Shell is a shell script, Python a Python script; one of them is empty.
	Shell, Python string
	// Timeout is how long it may run.
	Timeout time.Duration
	// Said gets its output while it is written; may be nil.
	Said func(text string)
}

// Ended is how a script ended.
type Ended struct {
	// Output is what it printed, up to a limit.
	Output string
	// Code is the exit code; Signal is what killed it, if anything did.
	Code   int
	Signal syscall.Signal
	// Why says why it was ended; empty if it ended by itself.
	Why string
	// Took is how long it ran.
	Took time.Duration
}

// Programs runs scripts in the workspace.
type Programs struct {
	// Execute runs a script. An error means that it did not run, or that how it ended is unknown.
	Execute func(ctx context.Context, s Script) (Ended, error)
	// Python is true if there is an interpreter.
	Python bool
	// Network is true if scripts have network access: then a call whose end is unknown may have had effects outside.
	Network bool
}

// Tool returns the tool run.
func (p Programs) Tool() Tool {
	languages := []string{"shell"}
	if p.Python {
		languages = append(languages, "python")
	}
	kinds, _ := json.Marshal(languages) // Strings can always be encoded.
	network := " There is no network."
	if p.Network {
		network = ""
	}
	return Tool{
		Name: Run, Files: true, Once: p.Network, Call: p.run,
		Description: "Runs a script in the workspace and gives what it printed and its exit code. Files stay from call to call, processes do not." +
			network + " What lies in the folder out is handed on with your result.",
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"command":{"type":"string","description":"the script"},`+
			`"language":{"enum":%s,"description":"shell when left out"},`+
			`"timeout":{"type":"integer","minimum":1,"maximum":%d,"description":"seconds, %d when left out"}},"required":["command"]}`,
			kinds, int(MostTimeout.Seconds()), int(DefaultTimeout.Seconds()))),
	}
}

func (p Programs) run(ctx context.Context, c Call) (string, error) {
	var a struct {
		Command  string `json:"command"`
		Language string `json:"language"`
		Timeout  int    `json:"timeout"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	s := Script{Timeout: DefaultTimeout, Said: c.Said}
	if a.Timeout != 0 {
		s.Timeout = time.Duration(a.Timeout) * time.Second
	}
	switch {
	case strings.TrimSpace(a.Command) == "":
		return "", errors.New("bad arguments: command is needed")
	case len(a.Command) > maxCommand:
		return "", fmt.Errorf("the command has %d bytes, at most %d are taken: write a file and run it", len(a.Command), maxCommand)
	case strings.ContainsRune(a.Command, 0):
		return "", errors.New("the command has a zero byte")
	case s.Timeout < time.Second || s.Timeout > MostTimeout:
		return "", fmt.Errorf("bad arguments: timeout is 1 to %d seconds", int(MostTimeout.Seconds()))
	}
	switch a.Language {
	case "", "shell", "sh", "bash":
		s.Shell = a.Command
	case "python", "python3":
		if !p.Python {
			return "", errors.New("there is no Python on this machine: use the shell")
		}
		s.Python = a.Command
	default:
		return "", fmt.Errorf("there is no language %q: use shell or python", a.Language)
	}
	ended, err := p.Execute(ctx, s)
	if err != nil {
		return "", err
	}
	return ended.text(), nil
}

// text is what the model sees.
func (e *Ended) text() string {
	output := strings.TrimRight(e.Output, "\n")
	if output == "" {
		output = "(no output)"
	}
	switch {
	case e.Why != "":
		return fmt.Sprintf("%s\n[ended: %s]", output, e.Why)
	case e.Signal != 0:
		return fmt.Sprintf("%s\n[killed by %s]", output, e.Signal)
	case e.Code != 0:
		return fmt.Sprintf("%s\n[exit code %d]", output, e.Code)
	}
	return output
}
