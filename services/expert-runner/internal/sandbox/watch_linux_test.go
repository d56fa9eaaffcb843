package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// startTwo starts two processes below this one, and returns how many there are.
func startTwo(t *testing.T) int64 {
	t.Helper()
	for range 2 {
		cmd := exec.Command("/bin/sleep", "60")
		musttest.Do(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	}
	n, _, err := process.CountTasks()
	if err != nil || n < 2 {
		t.Fatalf("%d processes are counted: %v", n, err)
	}
	return n
}

func TestABoundIsBrokenOnlyByMoreThanItAllows(t *testing.T) {
	n := startTwo(t)
	for _, c := range []struct {
		b     bounds
		weigh bool
		want  string
	}{
		{bounds{processes: n}, true, ""},
		{bounds{processes: n - 1}, false, fmt.Sprintf("it had more than %d processes", n-1)},
		{bounds{memory: 1 << 60}, true, ""},
		{bounds{memory: 1}, true, "its processes had more than 1 bytes of memory together"},
		{bounds{memory: 1}, false, ""}, // Weighing costs more than counting.
		{bounds{}, true, ""},
	} {
		if got := c.b.broken(c.weigh); got != c.want {
			t.Errorf("%d processes, %d bytes, weighed %v: %q, want %q", c.b.processes, c.b.memory, c.weigh, got, c.want)
		}
	}
}

func TestAProgramThatIsEndedStartsNothingMeanwhile(t *testing.T) {
	startTwo(t)
	path := filepath.Join(t.TempDir(), "words")
	words := musttest.Get(os.Create(path))(t)
	shut := make(chan bool)
	b := &bounds{memory: 1, gate: &gate{}, words: words, done: make(chan struct{})}
	b.kill = func() {
		select {
		case shut <- b.gate.shut.Load():
		case <-b.done:
		}
	}
	var watch sync.WaitGroup
	watch.Go(b.watch)
	for range 2 { // It is killed again and again, until it has ended.
		if !<-shut {
			t.Error("it is killed while it may start processes")
		}
	}
	b.over()
	watch.Wait()
	musttest.Do(t, words.Close())
	if got := string(musttest.Read(t, path)); got != "the program was ended: its processes had more than 1 bytes of memory together\n" {
		t.Errorf("its standard error has %q", got)
	}
}

// What a program has left behind runs until it is hunted down.
func TestWhatAProgramHasLeftBehindStartsNothing(t *testing.T) {
	b := &bounds{gate: &gate{}, done: make(chan struct{})}
	if b.over(); !b.gate.shut.Load() {
		t.Error("the gate lets it start processes")
	}
	select {
	case <-b.done:
	default:
		t.Error("the watch goes on")
	}
}
