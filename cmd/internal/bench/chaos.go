package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobgraph/jobgraph/cmd/internal/chaos"
)

// chaosServer is the hidden command that runs a campaign's server.
const chaosServer = "chaos-server"

// declareChaos registers the flags of a campaign.
func (f *flags) declareChaos(set *pflag.FlagSet) {
	s := &f.campaign
	set.BoolVar(&f.chaos, "chaos", false, "in place of a workload: kill, stop and restart processes by chance while jobs run, and look whether what is promised holds")
	set.DurationVar(&s.Duration, "duration", 10*time.Minute, "with --chaos: how long there are faults")
	set.IntVar(&s.Faults, "faults", 0, "with --chaos: end after so many faults; 0 for no such end")
	set.Uint64Var(&s.Seed, "seed", 1, "with --chaos: decides about faults and jobs")
	set.IntVar(&s.Servers, "servers", 1, "with --chaos: 1, or 3 for a cluster")
	set.StringVar(&s.Programs, "programs", "", "with --chaos: folder with planner, scheduler and expert-runner (default: that of this program)")
	set.StringVar(&s.Other, "other", "", "with --chaos: folder with those of another release, of which half of the services are started")
	set.BoolVar(&s.Rolling, "rolling", false, "with --chaos and --other: in place of faults, replace services of the other release by those of this one, one at a time, through every mix, up and back")
	set.StringVar(&s.Worker, "worker", "", "with --rolling: command line of a worker in another language, which is given the name of a pool")
	set.StringVar(&s.Roles, "roles", "", "with --chaos: a `folder` that jobgraph init --secure, of either release, has made with --runner runner=default,quick: services have its keys and roles")
	set.BoolVar(&s.Keep, "keep", false, "with --chaos: leave logs, store and marks behind, and say where")
}

// validateChaos returns the faults of a campaign's flags, and finds its programs.
func (f *flags) validateChaos() (faults []error) {
	s := &f.campaign
	if s.Programs == "" {
		self, err := os.Executable()
		if err != nil {
			return []error{fmt.Errorf("--programs: %w", err)}
		}
		s.Programs = filepath.Dir(self)
	}
	for _, dir := range []struct{ flag, path string }{{"programs", s.Programs}, {"other", s.Other}} {
		for _, name := range []string{"planner", "scheduler", "expert-runner"} {
			if _, err := os.Stat(filepath.Join(dir.path, name)); dir.path != "" && err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w; `make build` makes planner, scheduler and expert-runner in bin/", dir.flag, err))
			}
		}
	}
	if !slices.Contains([]int{1, 3}, s.Servers) {
		faults = append(faults, fmt.Errorf("--servers: %d: want 1 or 3", s.Servers))
	}
	if s.Rolling && s.Other == "" || s.Worker != "" && !s.Rolling {
		faults = append(faults, errors.New("--rolling needs --other, and --worker needs --rolling"))
	}
	if s.Roles != "" && s.Worker != "" {
		faults = append(faults, errors.New("--roles: --worker has no key"))
	}
	if s.Duration <= 0 || s.Faults < 0 {
		faults = append(faults, errors.New("--duration, --faults: want a time above 0, and no less than 0 faults"))
	}
	return faults
}

// runChaos runs a campaign and prints its report. A violation is an error.
func (f *flags) runChaos(cmd *cobra.Command, o Options, self []string) error {
	s := f.campaign
	s.Self, s.Log = append(slices.Clone(self), chaosServer), cmd.ErrOrStderr()
	r, err := chaos.Run(cmd.Context(), s)
	if err != nil {
		return err
	}
	if o.JSON() {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	} else {
		err = r.Print(cmd.OutOrStdout())
	}
	if err == nil && !r.Sound() {
		return o.Missed
	}
	return err
}
