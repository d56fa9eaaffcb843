package main_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// model serves the scripted model on a free port, which OPENAI_BASE_URL names, until the script ends.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("model cannot be negated")
	}
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			args[i] = ts.MkAbs(arg)
		}
	}
	signals := make(chan os.Signal, 2)
	out, in := io.Pipe()
	code := make(chan int, 1)
	sys := cli.System{
		System: host.System{
			Args: append([]string{"model", "serve"}, args...), Env: func(string) (string, bool) { return "", false },
			Stdout: in, Stderr: os.Stderr, Signals: signals,
		},
		Stdin: strings.NewReader(""), Now: time.Now,
	}
	go func() { // Ends with the signal below.
		code <- cli.Main(sys)
		_ = in.Close()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv("OPENAI_BASE_URL", strings.TrimSpace(address))
	ts.Defer(func() {
		signals <- syscall.SIGTERM
		if got := <-code; got != 0 {
			ts.Fatalf("the model ended with %d", got)
		}
	})
}
