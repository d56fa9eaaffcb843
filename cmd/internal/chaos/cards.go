package chaos

import (
	"fmt"
	"os"
	"path/filepath"
)

// The experts of a campaign.
const (
	blink  = "blink"  // Ends at once; may be repeated.
	steady = "steady" // Takes about a second; may be repeated.
	long   = "long"   // Takes longer than a lease; may be repeated.
	once   = "once"   // Takes about a second; may not be repeated without asking.
	flaky  = "flaky"  // Fails at its first attempt; may be repeated.
	boxed  = "boxed"  // Takes about a second, at sandbox level landlock; may be repeated.
	clerk  = "clerk"  // Asks a person.
)

// program records its start, a heartbeat ten times a second, and its end: what, job, SubJob, run, process, nanoseconds.
const program = `#!/bin/sh
say() { echo "$1 $JOBGRAPH_JOB $JOBGRAPH_SUBJOB $JOBGRAPH_RUN $$ $(date +%s%N)" >>"$MARKS"; }
say begin
i=0
while [ "$i" -lt "$TENTHS" ]; do sleep 0.1; say alive; i=$((i + 1)); done
say end
if [ "$FAILS" = "$JOBGRAPH_ATTEMPT" ]; then echo "not yet" >&2; exit 1; fi
echo '"done"'
`

// writeCards writes the experts' cards and their program.
func writeCards(dir string, boxes bool) error {
	for _, sub := range []string{"cards", "work", "store"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	script := filepath.Join(dir, "expert.sh")
	if err := os.WriteFile(script, []byte(program), 0o700); err != nil { //nolint:gosec // The file is executed.
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "marks"), nil, 0o600); err != nil {
		return err
	}
	type expert struct {
		id         string
		tenths     int
		fails      string
		idempotent bool
		sandbox    string
	}
	marks, none := filepath.Join(dir, "marks"), "none"
	list := []expert{{blink, 0, "", true, none}, {steady, 10, "", true, none}, {long, 45, "", true, none}, {once, 10, "", false, none}, {flaky, 3, "1", true, none}}
	if boxes {
		list = append(list, expert{boxed, 10, "", true, fmt.Sprintf("landlock\nwrite: [%q]", marks)})
	}
	for _, e := range list {
		text := fmt.Sprintf("---\nname: %s\nkind: command\nsandbox: %s\nidempotent: %v\nretries: 3\ncommand: [%q]\nenv: {MARKS: %q, TENTHS: \"%d\", FAILS: %q}\n---\n",
			e.id, e.sandbox, e.idempotent, script, marks, e.tenths, e.fails)
		if err := os.WriteFile(filepath.Join(dir, "cards", e.id+".md"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("---\nname: %s\nkind: human\n---\nSay yes.\n", clerk)
	return os.WriteFile(filepath.Join(dir, "cards", clerk+".md"), []byte(text), 0o600)
}

// writeQuickCards adds the experts of a campaign with two releases: one that calls an address, in a separate pool, and that of a
// third-party worker, if there is one.
func writeQuickCards(dir, address string, worker bool) error {
	cards := map[string]string{quick: fmt.Sprintf("---\nname: %s\nkind: http\npool: %s\nidempotent: true\nurl: http://%s/\n---\n", quick, quick, address)}
	if worker {
		cards[foreign] = fmt.Sprintf("---\nname: %s\nkind: nats\npool: %s\ntimeout: 1m\n---\n", foreign, foreign)
	}
	for name, text := range cards { // any order: each is a file.
		if err := os.WriteFile(filepath.Join(dir, "cards", name+".md"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
