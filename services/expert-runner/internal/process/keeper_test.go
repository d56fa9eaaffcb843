//go:build linux

package process_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// output returns what a program prints.
func output(t *testing.T, start starts, cmd *exec.Cmd) string {
	t.Helper()
	pipes := musttest.Get(process.Connect(cmd))(t)
	defer pipes.Close()
	group, err := start(cmd)
	pipes.Started()
	if err != nil {
		t.Fatal(err)
	}
	_ = pipes.Stdin.Close()
	text := musttest.Get(io.ReadAll(pipes.Stdout))(t)
	if ending, err := group.Wait(); err != nil || ending != (process.Ending{}) {
		t.Errorf("it ended with %s, %v", ending, err)
	}
	return string(text)
}

// A program gets from runner and keeper only what it is meant to have.
func TestAProgramHasOfItsKeeperNoMoreThanOfItsRunner(t *testing.T) {
	t.Setenv("SECRET", "of the runner")
	var seen []string
	both(t, func(t *testing.T, start starts) {
		cmd := script(`ls /proc/self/fd | tr '\n' ' '; pwd; env | sort | grep -v -e ^_= -e ^PWD= -e ^OLDPWD= -e ^SHLVL=; grep -e SigIgn -e SigBlk /proc/self/status`)
		cmd.Dir, cmd.Env = "/usr", []string{"A=1", "PATH=/usr/bin:/bin"}
		seen = append(seen, output(t, start, cmd))
	})
	// The parent of the test may have left files open, which the test passes on to programs that it starts itself.
	files, direct, _ := strings.Cut(seen[0], "/usr\n")
	kept, keeper, _ := strings.Cut(seen[1], "/usr\n")
	for file := range strings.FieldsSeq(kept) {
		if !slices.Contains(strings.Fields(files), file) {
			t.Errorf("it has file %s of the keeper", file)
		}
	}
	// The same holds for ignored signals.
	direct, ignored, _ := strings.Cut(direct, "SigIgn:")
	keeper, ignoredOfKeeper, _ := strings.Cut(keeper, "SigIgn:")
	if of, by := signals(t, ignored), signals(t, ignoredOfKeeper); by&^of != 0 {
		t.Errorf("it ignores signals %x, %x by itself", by, of)
	}
	if diff := cmp.Diff(direct, keeper); diff != "" || !strings.HasPrefix(direct, "A=1\nPATH=/usr/bin:/bin\nSig") {
		t.Errorf("%s\n%s", direct, diff)
	}
}

// signals reads a set of signals as /proc shows it.
func signals(t *testing.T, text string) uint64 {
	t.Helper()
	return musttest.Get(strconv.ParseUint(strings.TrimSpace(text), 16, 64))(t)
}

// The command line exceeds what a socket takes at once.
func TestAProgramMayHaveALongCommandLine(t *testing.T) {
	both(t, func(t *testing.T, start starts) {
		cmd := script(`echo $#; echo ${#10}`)
		cmd.Args = append(cmd.Args, "sh")
		for range 12 {
			cmd.Args = append(cmd.Args, strings.Repeat("x", 100_000))
		}
		if got := output(t, start, cmd); got != "12\n100000\n" {
			t.Errorf("got %q", got)
		}
	})
}

// keepers returns the keeper processes of this process, with their open files and children.
func keepers(t *testing.T) (list []string) {
	t.Helper()
	dirs := musttest.Get(filepath.Glob("/proc/[0-9]*"))(t)
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		stat, _ := os.ReadFile(dir + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if bytes.HasPrefix(line, []byte("jobgraph-keeper\x00")) && len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			list = append(list, dir)
		}
	}
	return list
}

func TestManyProgramsAtOnceLeaveNothingInTheirKeeper(t *testing.T) {
	k := process.NewKeeper(helper, time.Hour)
	defer k.Close()
	output(t, k.Start, script(`:`))
	list := keepers(t)
	if len(list) != 1 {
		t.Fatalf("keepers: %v", list)
	}
	before := musttest.Get(os.ReadDir(list[0] + "/fd"))(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got := output(t, k.Start, script(`(setsid sh -c : &); echo $((6*7))`)); got != "42\n" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	all.Wait()
	after, err := os.ReadDir(list[0] + "/fd")
	if err != nil || len(after) != len(before) {
		t.Errorf("%d descriptors before, %d after, %v", len(before), len(after), err)
	}
	k.Close()
	if list := keepers(t); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
	if _, err := k.Start(script(`:`)); err == nil {
		t.Error("a keeper that was closed starts programs")
	}
}

// A program ends without renewal and continues with it.
func TestAProgramEndsWhenItIsNotRenewed(t *testing.T) {
	k := process.NewKeeper(helper, 2*time.Second)
	defer k.Close()
	text := make(chan string)
	go func() { text <- output(t, k.Keep, script(`sleep 4; echo done`)) }()
	group := musttest.Get(k.Start(script(`trap '' TERM; sleep 3600 & wait`)))(t)
	if ending, err := group.Wait(); err != nil || ending.Why != process.Orphaned {
		t.Errorf("it ended with %s, %v", ending, err)
	}
	if got := <-text; got != "done\n" {
		t.Errorf("the other one said %q", got)
	}
}

// A runner that was suspended between checking its claim and giving the order may have lost the claim.
func TestAProgramIsNotStartedBehindTheMomentUntilWhichThatIsInOrder(t *testing.T) {
	k := process.NewKeeper(helper, 0)
	defer k.Close()
	dir := t.TempDir()
	if _, err := k.StartUntil(script(`: >`+dir+`/late`), process.Now()-1); !errors.Is(err, process.ErrLate) {
		t.Errorf("started: %v", err)
	}
	group := musttest.Get(k.StartUntil(script(`: >`+dir+`/in-time`), process.Now().After(time.Hour)))(t)
	if _, err := group.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("the late one ran")
	}
	if _, err := os.Stat(filepath.Join(dir, "in-time")); err != nil {
		t.Error(err)
	}
}
