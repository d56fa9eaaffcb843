package program_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// besideArgument makes the test binary a program that writes to descriptor 3 what it reads there, and whether it can talk to
// itself.
const besideArgument = "--beside"

// alone talks to itself over the loopback interface.
func alone() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		err = c.Close()
	}
	return errors.Join(err, l.Close())
}

// A program at level namespaces gets a connection to the runner, and a separate loopback interface; at any other level a connection
// is refused.
func TestAProgramWithoutNetworkHasItsLineAndItself(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.BestEffort, sandbox.Landlock} {
		box, err := sandbox.NewBoxes(helper).Open(level)
		if errors.Is(err, sandbox.ErrUnavailable) {
			continue // This level could not refuse anything.
		}
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs, err := sandbox.Pair()
		if err != nil {
			t.Fatal(err)
		}
		self := musttest.Get(os.Executable())(t)
		cmd := &exec.Cmd{Path: self, Args: []string{self, besideArgument}, Dir: t.TempDir(), ExtraFiles: []*os.File{theirs}}
		r := program.Runner{Box: box, Grace: 100 * time.Millisecond}
		task := &expert.Task{Work: &events.Work{}, Log: slog.New(slog.DiscardHandler)}
		group, release, err := r.Serve(t.Context(), task, cmd, program.Beside{Dir: cmd.Dir, Ended: func(why error) { t.Error(why) }})
		_ = theirs.Close() // The program has a copy.
		if box.Level() == sandbox.Landlock {
			if err == nil || !strings.Contains(err.Error(), "only a program at level namespaces") {
				t.Errorf("%s: %v", box.Level(), err)
			}
			_ = ours.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(ours, "hello\n")
		said, readErr := io.ReadAll(ours) // Ends with the program, which has the last copy.
		if err = errors.Join(err, readErr); err != nil || string(said) != `heard "hello\n" <nil>, itself: <nil>` {
			t.Errorf("%s: %s %v", box.Level(), said, err)
		}
		if _, err := group.Wait(); err != nil {
			t.Error(err)
		}
		release()
		_ = ours.Close()
	}
}
