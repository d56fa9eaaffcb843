package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/bench"
)

// TestMain lets the test binary act as its own child: with the argument "bench" it is the command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		c := bench.New(bench.Options{Self: []string{os.Args[0], "bench"}})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(os.Args[2:])
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := c.ExecuteContext(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
