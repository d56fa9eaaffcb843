package access_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A list of signers does not name roles, but what each key may sign differs from role to role.
func TestTheRoleOfASignerFollowsFromWhatItMaySign(t *testing.T) {
	tenant := access.Tenant{Name: "jobgraph", Identities: cast()}
	signers := tenant.Signers().Signers
	for at := range signers {
		i := slices.IndexFunc(tenant.Identities, func(i access.Identity) bool { return i.Name == signers[at].Name })
		if got := access.Role(signers[at].Role()); got != tenant.Identities[i].Role {
			t.Errorf("%s has the role %s, not %s", signers[at].Name, got, tenant.Identities[i].Role)
		}
	}
}

// A service with the key of another role says so once, instead of asking in vain for what it may not do.
func TestAServiceWithTheKeyOfAnotherRoleSaysSo(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	for _, c := range []struct{ program, key, want string }{
		{"scheduler", "scheduler", ""},
		{"scheduler", "admin", ""},
		{"expert-runner", "runner-bc", ""},
		{"another program", "client", ""},
		{"scheduler", "runner-a", "the key is that of runner-a, whose role is runner; scheduler needs the role scheduler"},
		{"gateway", "planner", "the key is that of planner, whose role is planner; gateway needs the role gateway"},
		{"planner", "scheduler", "the key is that of scheduler, whose role is scheduler; planner needs the role planner"},
		{"expert-runner", "anna", "the key is that of anna, whose role is client; expert-runner needs the role runner"},
		{"scheduler", "viewer", "the key is none of those on the list of signers, as that of a viewer or of a removed identity; scheduler needs the role scheduler"},
	} {
		t.Run(c.program+" "+c.key, func(t *testing.T) {
			var log bytes.Buffer
			p := &host.Process{Name: c.program, Log: slog.New(slog.NewTextHandler(&log, nil)), Health: host.NewHealth()}
			onbus.CheckRole(p, s.signed(tenant, c.key))
			reasons := fmt.Sprint(p.Health.Reasons(t.Context()), p.Health.Notes())
			if c.want == "" {
				musttest.Equal(t, log.String()+reasons, "[] []")
				return
			}
			if strings.Count(log.String(), "level=ERROR") != 1 || !strings.Contains(log.String(), c.want) || !strings.Contains(log.String(), "NATS_NKEY") {
				t.Errorf("the log is %s", log.String())
			}
			if !strings.HasPrefix(reasons, "[] [{role ") || !strings.Contains(reasons, c.want) {
				t.Errorf("/readyz says %s", reasons)
			}
		})
	}
}

// Lists of earlier releases name no runners, so that one which is missing may be all right.
func TestARunnerThatIsNotListedIsWarnedAbout(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	var log bytes.Buffer
	p := &host.Process{Name: "expert-runner", Log: slog.New(slog.NewTextHandler(&log, nil)), Health: host.NewHealth()}
	onbus.CheckRole(p, s.signed(&s.tenants[0], "viewer"))
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "expert-runner needs the role runner") || len(p.Health.Reasons(t.Context())) > 0 {
		t.Errorf("the log is %s, and it is not ready for %v", log.String(), p.Health.Reasons(t.Context()))
	}
}
