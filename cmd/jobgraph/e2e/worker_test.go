//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/nats-io/nats.go"
)

// The example workers in other languages serve a pool of their own, from work message to report, even if the bus is killed.
// The one in shell uses a client here that implements what it needs of the nats command.
func TestWorkersInOtherLanguagesServeAPool(t *testing.T) {
	t.Parallel() // It mostly waits.
	for name, argv := range map[string][]string{"python": {"python3", "worker.py"}, "shell": {"bash", "worker.sh"}} {
		t.Run(name, func(t *testing.T) {
			s := bare(t, "")
			s.write("cards/counter.md", "---\nname: Word Counter\nkind: nats\npool: foreign\n---\n")
			s.add(scheduler)
			s.add(planner)
			s.add(runner)
			s.ready()
			program, err := exec.LookPath(argv[0])
			if err != nil {
				s.t.Fatalf("%v; on Debian: apt-get install %s", err, argv[0])
			}
			if _, err := exec.LookPath("jq"); err != nil {
				s.t.Fatalf("%v; on Debian: apt-get install jq", err)
			}
			script := musttest.Get(filepath.Abs(filepath.Join("..", "..", "..", "examples", "workers", argv[1])))(s.t)
			self := musttest.Get(os.Executable())(s.t)
			musttest.Do(s.t, os.Symlink(self, filepath.Join(s.dir, "nats")))
			env := append(s.env(), "PATH="+s.dir+":"+os.Getenv("PATH"), "HOSTNAME=here")
			w := &process{t: s.t, name: argv[1], path: program, args: []string{script, "foreign"}, env: env, log: filepath.Join(s.dir, argv[1]+".log"), group: true}
			w.start()
			s.others = append(s.others, w)
			s.counts("one two one", 3)
			if name == "python" { // It reconnects by itself; the shell worker ends with an error.
				s.server.kill()
				s.server.start()
				s.ready()
			}
			s.counts("three", 1)
			if !w.alive() {
				t.Error("the worker has ended")
			}
		})
	}
}

// counts has the worker count the words of a goal.
func (s *stack) counts(goal string, want int) {
	s.t.Helper()
	r := s.cli("run", goal, "--expert", "Word Counter", "--no-input", "-q", "-o", "json", "--timeout", "60s")
	if text := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \n\\", c) {
			return -1
		}
		return c
	}, r.out); r.code != 0 || !strings.Contains(text, fmt.Sprintf(`"words":%d`, want)) {
		s.t.Fatalf("exit code %d, want %d words in:\n%s%s", r.code, want, r.out, r.err)
	}
}

// natsCommand implements `pub`, `req` and `sub` of the nats command line with the flags that worker.sh uses.
func natsCommand(args []string) error {
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		return err
	}
	defer nc.Close()
	var words []string
	m := &nats.Msg{Header: nats.Header{}}
	for i := 1; i < len(args); i++ {
		switch key, value, _ := strings.Cut(args[i], "="); key {
		case "--reply":
			i++
			m.Reply = args[i]
		case "--header":
			i++
			name, text, _ := strings.Cut(args[i], ":")
			m.Header.Set(name, text)
		case "--raw":
		case "--dump":
			if value != "-" {
				return fmt.Errorf("flag %s is not known here", args[i])
			}
		default:
			words = append(words, args[i])
		}
	}
	m.Subject, m.Data = words[0], []byte(strings.Join(words[1:], " "))
	switch args[0] {
	case "pub":
		return errors.Join(nc.PublishMsg(m), nc.Flush())
	case "req":
		answer, err := nc.RequestMsg(m, 5*time.Second)
		if err == nil {
			_, err = os.Stdout.Write(answer.Data)
		}
		return err
	case "sub":
		return dump(nc, m.Subject)
	}
	return fmt.Errorf("command %s is not known here", args[0])
}

// dump prints messages as `nats sub --dump=-` does, until the connection or the process ends.
func dump(nc *nats.Conn, subject string) error {
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		return err
	}
	for {
		m, err := sub.NextMsgWithContext(context.Background())
		if err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{"Subject": m.Subject, "Reply": m.Reply, "Header": m.Header, "Data": m.Data})
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(append(text, 0)); err != nil {
			return err
		}
	}
}
