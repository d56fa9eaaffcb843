package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/chaos"
)

// Options say how the command is embedded in a program.
type Options struct {
	// Self is the program and the arguments that lead to this command, for child processes; empty means this executable
	// with the argument "bench".
	Self []string
	// JSON reports whether the result is printed as JSON; nil means never.
	JSON func() bool
	// Missed is the error for missed targets with --check; nil means a default one.
	Missed error
	// Usage marks an error about the flags; nil leaves it unchanged.
	Usage func(error) error
}

// flags holds the values of the command's flags.
type flags struct {
	workload, mode, sync, profile string
	dag                           string
	sides                         []string
	size, rounds                  int
	check                         bool
	chaos                         bool
	campaign                      chaos.Settings
}

// New returns the command "bench" with its hidden children "trial" and "part".
func New(o Options) *cobra.Command {
	if o.JSON == nil {
		o.JSON = func() bool { return false }
	}
	if o.Missed == nil {
		o.Missed = errors.New("a target was missed")
	}
	if o.Usage == nil {
		o.Usage = func(err error) error { return err }
	}
	var f flags
	c := &cobra.Command{
		Use: "bench", Short: "Measure this machine: Jobgraph beside a hand-written baseline",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, o) },
	}
	c.Flags().StringVar(&f.workload, "workload", "all", "chain, fan, random, or all of these; plan, tool, agents, cancel, wait, burst, wide, deep, many, gateway or secure, which have no floor")
	c.Flags().StringVar(&f.dag, "dag", "", "file with a plan whose graph is run beside the floor, in place of a workload; --size is how many jobs of it at once")
	c.Flags().StringVar(&f.mode, "mode", ModeEmbedded, "embedded: one process; services: three processes and a server over TCP")
	c.Flags().StringVar(&f.sync, "sync", SyncDefault, "default: the server writes through from time to time; always: before each acknowledgement")
	c.Flags().StringSliceVar(&f.sides, "side", slices.Clone(sides), "what to run; ratios need the floor")
	c.Flags().IntVar(&f.size, "size", 0, "how large: nodes, width, DAGs, jobs; 0 for the size that the targets are about")
	c.Flags().IntVar(&f.rounds, "rounds", 5, "how often each side of a comparison runs")
	c.Flags().StringVar(&f.profile, "cpu-profile", "", "folder for a CPU profile of each process of the last round")
	c.Flags().BoolVar(&f.check, "check", false, "exit with 1 when a target is missed")
	f.declareChaos(c.Flags())
	c.AddCommand(trialCommand(o), probeCommand(o), partCommand(), hangCommand(o), chaos.ServerCommand(chaosServer))
	return c
}

// self returns the beginning of the children's command line.
func (o Options) self() ([]string, error) {
	if len(o.Self) > 0 {
		return o.Self, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{program, "bench"}, nil
}

func (f *flags) run(cmd *cobra.Command, o Options) error {
	if err := f.validate(); err != nil {
		return o.Usage(err)
	}
	self, err := o.self()
	if err != nil {
		return err
	}
	if f.chaos {
		return f.runChaos(cmd, o, self)
	}
	names := []string{f.workload}
	if f.workload == "all" {
		names = comparable
	}
	if f.dag != "" {
		if _, err := readDAG(f.dag); err != nil {
			return o.Usage(err)
		}
		names = []string{"dag"}
	}
	var results []result
	met := true
	for _, name := range names {
		r, err := f.measure(cmd.Context(), self, name, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		results, met = append(results, r), met && r.met()
		if !o.JSON() {
			if err := r.print(cmd.OutOrStdout()); err != nil {
				return err
			}
		}
	}
	if o.JSON() {
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(results); err != nil {
			return err
		}
	}
	if f.check && !met {
		return o.Missed
	}
	return nil
}

// result is a Comparison or a Report.
type result interface {
	print(w io.Writer) error
	met() bool
}

// measure runs one workload.
func (f *flags) measure(ctx context.Context, self []string, name string, progress io.Writer) (result, error) {
	size, under := f.size, Conditions{f.mode, f.sync}
	if size == 0 {
		size = standardSize(name)
	}
	if slices.Contains(comparable, name) || name == "dag" {
		t := trial{DAG: f.dag, Shape: Shape{name, size}, Under: under, Profile: f.profile, Warm: true}
		return compare(ctx, self, t, f.rounds, f.sides, progress)
	}
	r := Report{Workload: name, Size: size, Conditions: under}
	s := scale{self: self, under: under, size: size, dir: f.profile}
	var err error
	switch name {
	case "wide":
		r.Measures, err = s.wide(ctx)
	case "deep":
		r.Measures, err = s.deep(ctx)
	case "many":
		r.Measures, err = s.many(ctx)
	case "secure":
		r.Mode = ModeServices
		r.Measures, err = f.secure(ctx, self, size)
	case "burst":
		r.Measures, err = bursts(ctx, self, probe{Workload: name, Size: size, Under: under, Profile: f.profile})
	default:
		r.Measures, err = inquire(ctx, self, probe{Workload: name, Size: size, Under: under, Profile: f.profile})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// comparable are the workloads that are compared with the baseline.
var comparable = []string{"chain", "fan", "random"}

// alone are the workloads without a baseline.
var alone = []string{"plan", "tool", "agents", "cancel", "wait", "burst", "wide", "deep", "many", "gateway", "secure"}

// validate returns all faults of the flags.
func (f *flags) validate() error {
	var err error
	oneOf := func(flag, value string, list ...string) {
		if !slices.Contains(list, value) {
			err = errors.Join(err, fmt.Errorf("--%s %q: use %s", flag, value, strings.Join(list, ", ")))
		}
	}
	oneOf("workload", f.workload, slices.Concat([]string{"all"}, comparable, alone)...)
	oneOf("mode", f.mode, ModeEmbedded, ModeServices)
	oneOf("sync", f.sync, SyncDefault, SyncAlways)
	for _, side := range f.sides {
		oneOf("side", side, sides...)
	}
	if f.size < 0 {
		err = errors.Join(err, fmt.Errorf("--size %d: must not be negative", f.size))
	}
	if f.rounds < 1 {
		err = errors.Join(err, fmt.Errorf("--rounds %d: must be at least 1", f.rounds))
	}
	if f.chaos {
		err = errors.Join(err, errors.Join(f.validateChaos()...))
	}
	return err
}
