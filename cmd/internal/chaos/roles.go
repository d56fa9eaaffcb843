package chaos

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// The files of a folder of `jobgraph init --secure` are read as a person would use them, since another release may have made it.

// identities are the names of the keys of programs.
var identities = map[string]string{scheduler: "scheduler", planner: "planner", runner: "runner"}

// steward is the identity of the campaign itself.
const steward = "admin"

// accounts returns the path of the server's file of accounts, empty on a bus without roles.
func (f *fleet) accounts() string {
	if f.Roles == "" {
		return ""
	}
	return filepath.Join(f.Roles, "accounts.conf")
}

// role returns the variables of a program.
func (f *fleet) role(program string) ([]string, error) {
	name, known := identities[program]
	if f.Roles == "" || !known {
		return nil, nil
	}
	list, err := f.variables(name)
	if program == runner && err == nil && !slices.Contains(strings.Split(value(list, "JOBGRAPH_POOLS"), ","), quick) && f.Rolling {
		err = fmt.Errorf("runner of %s has no pool %s: make it with `jobgraph init --secure %s --runner runner=default,%s`", f.Roles, quick, f.Roles, quick)
	}
	return list, err
}

// variables reads the variables of an identity, without those of the server's address and certificate: the campaign has its own server.
func (f *fleet) variables(name string) (list []string, err error) {
	file, err := os.Open(filepath.Join(f.Roles, "jobgraph", name+".env"))
	if err != nil {
		return nil, fmt.Errorf("read variables of %s: %w", name, err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		variable, _, ok := strings.Cut(lines.Text(), "=")
		if ok && !strings.HasPrefix(variable, "#") && variable != "NATS_URL" && variable != "NATS_CA" {
			list = append(list, lines.Text())
		}
	}
	return list, nil
}

// value returns the value of a variable in a list of lines NAME=VALUE; "" if it is missing.
func value(list []string, variable string) string {
	for _, line := range list {
		if text, ok := strings.CutPrefix(line, variable+"="); ok {
			return text
		}
	}
	return ""
}

// options returns the options of the campaign's own connection.
func (f *fleet) options() (bus.Options, error) {
	o := bus.Options{URL: f.url, Name: "chaos"}
	if f.Roles == "" {
		return o, nil
	}
	list, err := f.variables(steward)
	o.NKey, o.InboxPrefix, o.Signers = value(list, "NATS_NKEY"), value(list, "NATS_INBOX_PREFIX"), value(list, "JOBGRAPH_SIGNERS")
	return o, err
}
