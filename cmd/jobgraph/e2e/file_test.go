//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A file of 1 GiB passes through three SubJobs, and the process that is client, bus and services in one uses at most a
// quarter of that memory.
func TestAGigabyteGoesThroughThreeSubJobsWithoutBeingHeldInMemory(t *testing.T) {
	const size, most = 1 << 30, 256 << 20
	dir := t.TempDir()
	name := filepath.Join(dir, "large.bin")
	file := musttest.Get(os.Create(name))(t)
	sum := sha256.New()
	musttest.Get(io.CopyN(io.MultiWriter(file, sum), rand.NewChaCha8([32]byte{1}), size))(t)
	musttest.Do(t, file.Close())
	card := "---\nname: sum\ndescription: tells the digest of a file\nkind: command\n" +
		"command: [sh, -c, 'cat > in.json; sha256sum < attachments/large.bin | cut -c 1-64']\n---\n"
	job := `{"plan":{"subjobs":[{"id":"a","goal":"g","expert":"sum"},{"id":"b","goal":"g","expert":"sum","dependencies":["a"]},` +
		`{"id":"c","goal":"g","expert":"sum","dependencies":["b"]}]}}`
	for path, text := range map[string]string{"sum.md": card, "job.json": job} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	var said, failed bytes.Buffer
	run := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(programs, "jobgraph"), "run", "--embedded", "--store", filepath.Join(dir, "store"),
		"--experts", filepath.Join(dir, "sum.md"), "-f", filepath.Join(dir, "job.json"), "--attach", name, "-o", "json")
	run.Dir, run.Stdout, run.Stderr = dir, &said, &failed
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, said.String(), failed.String())
	}
	if want := fmt.Sprintf("%x", sum.Sum(nil)); !strings.Contains(said.String(), want) || !strings.Contains(said.String(), `"done": 3`) {
		t.Errorf("want %s in\n%s", want, said.String())
	}
	usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || usage.Maxrss<<10 > most {
		t.Errorf("it took %+v", usage)
	}
	t.Logf("%d MiB in memory at most", usage.Maxrss>>10)
}
