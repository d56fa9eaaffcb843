package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// secureFlags are those of `init --secure`.
type secureFlags struct {
	dir, listen, store       string
	hosts, tenants           []string
	runners, people, viewers []string
	rotate, remove           []string
}

func (f *secureFlags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.dir, "secure", "", "make or change a folder with keys, certificates and the configuration of a NATS server with a role for everyone")
	set.StringVar(&f.listen, "listen", "", "with --secure: where the server listens, HOST:PORT ("+secure.DefaultListen+")")
	set.StringVar(&f.store, "store", "", "with --secure: folder of the streams (store in the folder)")
	set.StringArrayVar(&f.hosts, "host", nil, "with --secure: a name or address of the server for its certificate; the first is the one that clients use; repeatable")
	set.StringArrayVar(&f.tenants, "tenant", nil, "with --secure: an installation with accounts of its own ("+secure.DefaultTenant+"); repeatable")
	set.StringArrayVar(&f.runners, "runner", nil, "with --secure: a runner, NAME=POOL,POOL…; repeatable")
	set.StringArrayVar(&f.people, "client", nil, "with --secure: a person or program, NAME=RIGHT,RIGHT… of submitter, approver, operator; repeatable")
	set.StringArrayVar(&f.viewers, "viewer", nil, "with --secure: someone who reads, NAME; repeatable")
	set.StringArrayVar(&f.rotate, "rotate", nil, "with --secure: give NAME a new key, or tls new certificates; repeatable")
	set.StringArrayVar(&f.remove, "remove", nil, "with --secure: accept the key of NAME no longer; repeatable")
}

// given reports whether a flag was set that only makes sense with --secure.
func (f *secureFlags) given() bool {
	return f.listen != "" || f.store != "" || len(slices.Concat(f.hosts, f.tenants, f.runners, f.people, f.viewers, f.rotate, f.remove)) > 0
}

// change returns the change that the flags describe.
func (f *secureFlags) change(prefix string) (*secure.Change, error) {
	c := &secure.Change{Listen: f.listen, Store: f.store, Hosts: f.hosts, Tenants: f.tenants, Prefix: prefix, Rotate: f.rotate, Remove: f.remove}
	for _, text := range f.runners {
		name, pools, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--runner %q: write NAME=POOL", text)}
		}
		c.Add = append(c.Add, access.Identity{Name: name, Role: access.Runner, Pools: strings.Split(pools, ",")})
	}
	for _, text := range f.people {
		name, rights, ok := strings.Cut(text, "=")
		id := access.Identity{Name: name, Role: access.Client, User: name}
		for right := range strings.SplitSeq(rights, ",") {
			if ok {
				id.Rights = append(id.Rights, verb.Role(right))
			}
		}
		c.Add = append(c.Add, id)
	}
	for _, name := range f.viewers {
		c.Add = append(c.Add, access.Identity{Name: name, Role: access.Viewer})
	}
	return c, nil
}

// madeSecure is the JSON of `init --secure`.
type madeSecure struct {
	Config  string        `json:"config"`
	URL     string        `json:"url"`
	Members []secureEntry `json:"identities"`
}

type secureEntry struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	Role   string `json:"role"`
	Key    string `json:"key"`
	Env    string `json:"env"`
}

// secure makes or changes a folder of a secure installation.
func (g operations) secure(f *secureFlags) error {
	prefix := g.app.settings.Prefix
	if !g.app.given("prefix") {
		prefix = ""
	}
	c, err := f.change(prefix)
	if err != nil {
		return err
	}
	l, err := secure.Make(f.dir, c)
	if err != nil {
		return err
	}
	made := madeSecure{Config: l.Config(), URL: l.URL()}
	for i := range l.Tenants {
		t := &l.Tenants[i]
		for j := range t.Identities {
			id := &t.Identities[j]
			made.Members = append(made.Members, secureEntry{t.Name, id.Name, string(id.Role), id.Key, l.Env(t.Name, id.Name)})
		}
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, made)
	}
	commands := [][2]string{{"bus", "nats-server -c " + made.Config}}
	for _, m := range made.Members {
		program := cmp.Or(map[string]string{"runner": "expert-runner", "scheduler": "scheduler", "planner": "planner", "gateway": "gateway --tokens FILE", "admin": "jobgraph init"}[m.Role], "jobgraph list")
		commands = append(commands, [2]string{m.Name, fmt.Sprintf("(set -a; . %s; %s)", m.Env, program)})
	}
	commands = append(commands, [2]string{"or all in one process:", "jobgraph up --secure " + f.dir})
	return g.app.printf("%s%s\n", g.app.labelled(commands), g.app.fit("after a change of keys: reload the server, `nats-server --signal reload=PID`, or restart up", 0))
}

// labelled lists commands behind their labels, or below them if one is too long for the terminal: a command stays on one line.
func (a *app) labelled(commands [][2]string) string {
	width, _, terminal := a.size()
	var beside, below strings.Builder
	fits := true
	for _, c := range commands {
		line := fmt.Sprintf("%-11s %s\n", c[0], c[1])
		beside.WriteString(line)
		below.WriteString(c[0] + "\n  " + c[1] + "\n")
		fits = fits && drawing.Width(line) <= width
	}
	if terminal && !fits {
		return below.String()
	}
	return beside.String()
}
