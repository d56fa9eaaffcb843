//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A file of 1 GiB passes from a workspace by its digest through two more SubJobs and out of the job; no service uses a
// fifth of that memory.
func TestAnArtifactOfAGigabyteGoesThroughThreeSubJobsWithoutBeingHeldInMemory(t *testing.T) {
	const size, most = 1 << 30, 200 << 20
	s := bare(t, "")
	for id, command := range map[string]string{
		"maker":  fmt.Sprintf("head -c %d /dev/urandom > out/large.bin; sha256sum < out/large.bin | cut -c 1-64", size),
		"mover":  "mv artifacts/a/large.bin out/large.bin; sha256sum < out/large.bin | cut -c 1-64",
		"keeper": "mv artifacts/b/large.bin out/large.bin; sha256sum < out/large.bin | cut -c 1-64",
	} {
		s.write(filepath.Join("cards", id+".md"), fmt.Sprintf("---\nname: %s\ndescription: hands a file on\nkind: command\ncommand: [sh, -c, %q]\n---\n", id, command))
	}
	s.add(scheduler)
	s.add(planner)
	s.add(runner)
	s.ready()
	s.submit("large", step("a", "maker"), step("b", "mover", "a"), step("c", "keeper", "b"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	end, err := s.bus.Wait(ctx, "large")
	if err != nil || end.Status != events.Finished {
		t.Fatalf("it ended with %+v, %v", end, err)
	}

	digest := s.told("large", "a")
	for _, id := range []string{"a", "b", "c"} {
		var list []events.Ref
		s.read(&list, "artifacts", "list", "large/"+id)
		want := events.Ref{Digest: digest, Size: size, Name: "large.bin", MediaType: "application/octet-stream"}
		if len(list) != 1 || list[0] != want || s.told("large", id) != digest {
			t.Errorf("%s left %+v and saw %s, want %+v", id, list, s.told("large", id), want)
		}
	}
	fetched := filepath.Join(s.dir, "fetched.bin")
	s.cli("artifacts", "get", "large", "c/large.bin", "-f", fetched).wants(t, 0, "")
	if got := sumOf(t, fetched); got != digest {
		t.Errorf("fetched a file of digest %s, want %s", got, digest)
	}
	for _, p := range s.services {
		status := musttest.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)))(p.t)
		_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
		line, _, _ := strings.Cut(string(rest), " kB")
		kib := musttest.Get(strconv.ParseInt(strings.TrimSpace(line), 10, 64))(p.t)
		peak := kib << 10
		t.Logf("%s: %d MiB in memory at most", p.name, peak>>20)
		if peak > most {
			t.Errorf("%s took %d bytes of memory, want at most %d", p.name, peak, most)
		}
	}
}

// told returns the text result of a SubJob.
func (s *stack) told(job, subjob string) string {
	s.t.Helper()
	var d struct {
		Output string `json:"output"`
	}
	s.read(&d, "describe", job+"/"+subjob)
	return d.Output
}

// read decodes the output of a command into a value.
func (s *stack) read(value any, args ...string) {
	s.t.Helper()
	musttest.Do(s.t, json.Unmarshal([]byte(s.cli(append(args, "-o", "json")...).out), value))
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	file := musttest.Get(os.Open(path))(t)
	defer func() { _ = file.Close() }() // Only read.
	sum := sha256.New()
	musttest.Get(io.Copy(sum, file))(t)
	return fmt.Sprintf("%x", sum.Sum(nil))
}
