package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// mostSecureCost limits what permissions cost, in percent of the throughput.
const mostSecureCost = 5

// secureRounds is how often each side of the comparison runs; the sides take turns.
const secureRounds = 5

// accountsFile is the configuration of accounts in a folder of keys.
const accountsFile = "accounts.conf"

// signersFile lists the keys whose signatures count, in a folder of keys.
const signersFile = "signers.json"

// identities assigns to each connection name the identity that it uses on a bus with permissions.
var identities = map[string]string{"expert-runner": "runner", "planner": "planner", "scheduler": "scheduler", "gateway": "gateway", "bench": "admin", "bench-reader": "admin"}

// equip makes a key for each part, the list of signers, and the accounts of a server, in a folder.
func equip(dir string) error {
	list := []access.Identity{
		{Name: "admin", Role: access.Admin},
		{Name: "scheduler", Role: access.Scheduler},
		{Name: "planner", Role: access.Planner},
		{Name: "gateway", Role: access.Gateway},
		{Name: "runner", Role: access.Runner, Pools: []string{events.DefaultPool}},
	}
	for i := range list {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return fmt.Errorf("make key: %w", err)
		}
		seed, err := pair.Seed()
		if err != nil {
			return fmt.Errorf("make key: %w", err)
		}
		if list[i].Key, err = pair.PublicKey(); err != nil {
			return fmt.Errorf("make key: %w", err)
		}
		if err := os.WriteFile(seedFile(dir, list[i].Name), seed, 0o600); err != nil {
			return fmt.Errorf("write key: %w", err)
		}
	}
	tenant := access.Tenant{Name: "jobgraph", Identities: list}
	signers, err := json.Marshal(tenant.Signers())
	if err != nil {
		return fmt.Errorf("encode signers: %w", err)
	}
	for name, text := range map[string]string{accountsFile: access.Config([]access.Tenant{tenant}), signersFile: string(signers)} { // any order: each is a file of its own.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func seedFile(dir, identity string) string { return filepath.Join(dir, identity+".nk") }

// admit makes a server accept the keys of a folder.
func admit(o *server.Options, dir string) error {
	if dir == "" {
		return nil
	}
	file, err := server.ProcessConfigFile(filepath.Join(dir, accountsFile))
	if err != nil {
		return fmt.Errorf("read accounts: %w", err)
	}
	o.Accounts, o.Nkeys, o.Users = file.Accounts, file.Nkeys, file.Users
	return nil
}

// secure runs graphs in three processes, with permissions and without, alternately, and compares throughput and
// processor time.
func (f *flags) secure(ctx context.Context, self []string, size int) ([]Measure, error) {
	var speed, cpu [2][]float64 // First without permissions, then with them.
	for range secureRounds {
		for i, secure := range []bool{false, true} {
			s, err := perform(ctx, self, trial{Side: SideClaimed, Shape: Shape{"random", size}, Under: Conditions{ModeServices, f.sync}, Profile: f.profile, Warm: true, Secure: secure})
			if err != nil {
				return nil, err
			}
			speed[i], cpu[i] = append(speed[i], s.PerSecond), append(cpu[i], s.CPUPer1000)
		}
	}
	median := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	without, with := median(speed[0]), median(speed[1])
	return []Measure{
		value("speed without permissions", "SubJobs/s", without),
		value("speed with permissions", "SubJobs/s", with),
		limited("cost of permissions", "%", 100*(1-with/without), mostSecureCost),
		value("CPU per 1,000 SubJobs without permissions", "s", median(cpu[0])),
		value("CPU per 1,000 SubJobs with permissions", "s", median(cpu[1])),
	}, nil
}
