package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/drawing"
)

// whole matches a line with one thing that has to stay in one piece, after a label: an address, a path, a command, or an entry of the log.
var whole = regexp.MustCompile(`^ *(((store|bus|http) +)?\S+|(bus +)?nats-server -c \S+|set -a; \. \S+|\(set -a; \. \S+; [a-z -]+(FILE)?\)|(or all in one process: )?jobgraph( \S+)+|time=\S+ level=.*)$`)

// escapes are the control sequences of a terminal.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// fits reports lines of prose that are wider than the terminal.
func (k *keyboard) fits(t *testing.T) {
	t.Helper()
	for line := range strings.SplitSeq(strings.ReplaceAll(escapes.ReplaceAllString(k.seen.String(), ""), "\r", ""), "\n") {
		if wide := drawing.Width(line); wide > 80 && !whole.MatchString(line) {
			t.Errorf("%d columns: %s", wide, line)
		}
	}
}

// contains reports texts that are not shown, wherever their lines are broken.
func (k *keyboard) contains(t *testing.T, texts ...string) {
	t.Helper()
	all := strings.Join(strings.Fields(k.seen.String()), " ")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not shown: %s", text, k.seen.String())
		}
	}
}

func TestWhatCommandsSayFitsATerminalOfEightyColumns(t *testing.T) {
	for name, c := range map[string]struct {
		words []string
		says  []string // What has to be shown, wherever its lines break.
	}{
		"init":  {[]string{"init", "--secure", "bus"}, []string{"`nats-server --signal reload=PID`", "; gateway --tokens FILE)", "; expert-runner)"}},
		"new":   {[]string{"new", "first"}, []string{"notes/thursday.txt, test.sh next cd first jobgraph run -f job.yaml --attach notes --model fake:model.yaml --artifacts out sh test.sh"}},
		"tour":  {[]string{"demo"}, []string{"4. Everything that happened", "and counts what was made twice: nothing", "thank new→CREATED"}},
		"crash": {[]string{"demo", "crash"}, []string{"kill -9 ", "without having said so", "payments made 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := atKeyboard(t, t.TempDir(), nil, append([]string{"jobgraph"}, c.words...)...)
			if code := k.end(); code != 0 {
				t.Fatalf("exit code %d: %s", code, k.seen.String())
			}
			k.fits(t)
			k.contains(t, c.says...)
		})
	}
}

func TestWhatUpAndDoctorSayFitsATerminalOfEightyColumns(t *testing.T) {
	dir := t.TempDir()
	up := atKeyboard(t, dir, nil, "jobgraph", "up", "--model", "fake", "--ephemeral", "--nats", "127.0.0.1:0", "--http", "127.0.0.1:0")
	up.until(t, "bus    ", "birthday party", " list")
	bus := regexp.MustCompile(`nats://[0-9.:]+`).FindString(up.seen.String())
	for _, place := range [][]string{{"-s", bus}, {"-s", bus, "--prefix", "others"}, {"-s", "nats://127.0.0.1:1"}} { // All is well; faults; no bus.
		k := atKeyboard(t, dir, nil, append(append([]string{"jobgraph"}, place...), "doctor")...)
		k.end()
		k.fits(t)
		if place[1] == bus {
			k.contains(t, "ask its monitoring port with --monitor http://HOST:8222", "there is one copy", "`jobgraph init --secure DIR`")
		}
	}
	up.press(t, "\x03")
	if code := up.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	up.fits(t)
	up.contains(t, "/?token=", "/api/v1 /readyz /metrics /version", filepath.Base(dir))
}

// Rows of events are as wide as the terminal; what is not for a terminal is whole.
func TestRowsOfEventsFitATerminalAndAreWholeElsewhere(t *testing.T) {
	dir := t.TempDir()
	up := atKeyboard(t, dir, nil, "jobgraph", "up", "--model", "fake", "--ephemeral", "--nats", "127.0.0.1:0", "--http", "off")
	up.until(t, "bus    ", " list")
	at := []string{"jobgraph", "-s", regexp.MustCompile(`nats://[0-9.:]+`).FindString(up.seen.String())}
	goal := "Write down every one of the many words of this long goal"
	if k := atKeyboard(t, dir, nil, append(at, "run", "--id", "long", "--profile", "steps", "--no-input", goal)...); k.end() != 0 {
		t.Fatal(k.seen.String())
	}
	k := atKeyboard(t, dir, nil, append(at, "events", "long")...)
	k.end()
	k.fits(t)
	k.contains(t, "job.requested Write down eve…", "subjob.reported")
	for _, command := range []string{"events long -o wide", "events long | cat"} {
		k := atKeyboard(t, dir, nil, "sh", "-c", strings.Join(at, " ")+" "+command)
		k.end()
		k.contains(t, goal)
	}
	up.press(t, "\x03")
	up.end()
}
