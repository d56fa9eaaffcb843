package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// settling is how long init waits for a bus that answers but cannot create streams yet: a cluster that has just started has no leader at
// first, and then a leader that has not heard from all servers.
const settling = 30 * time.Second

func (g operations) initCommand() *cobra.Command {
	var replicas int
	var unsigned bool
	var f secureFlags
	c := &cobra.Command{
		Use: "init", Short: "Create the streams and buckets, or check existing ones; with --secure, make keys and permissions", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if f.dir != "" {
				return g.secure(&f)
			}
			if f.given() {
				return usageError{errors.New("--listen, --store, --host, --tenant, --runner, --client, --viewer, --rotate and --remove need --secure DIR")}
			}
			if replicas < 1 || replicas > 5 {
				return usageError{fmt.Errorf("--replicas %d: use 1 to 5", replicas)}
			}
			o, err := g.app.address()
			if err != nil {
				return err
			}
			o.Replicas = replicas
			c, err := g.app.dial(o, reach)
			if err != nil {
				return err
			}
			defer c.Close()
			patient, cancel := context.WithTimeout(g.app.soft, settling)
			defer cancel()
			if err := bus.Await(patient, func() error { return g.initialize(c.Bus().Streams(), unsigned) }); err != nil {
				return err
			}
			var lesser events.Faults
			if err := c.Bus().Streams().InitOptional(g.app.soft); err != nil && !errors.As(err, &lesser) {
				return err
			}
			for i := range lesser {
				g.app.note("%s", reason(&lesser[i]))
			}
			facts, err := c.Bus().Streams().List(g.app.soft)
			if err != nil {
				return err
			}
			names := make([]string, len(facts))
			for i, f := range facts {
				names[i] = f.Name
			}
			if g.app.machine() {
				return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{"streams": names})
			}
			return g.app.printf("%d streams and buckets are there under prefix %s\n", len(names), c.Names().Prefix())
		},
	}
	f.declare(c.Flags())
	c.Flags().IntVar(&replicas, "replicas", 1, "copies of each stream that is created; 3 in a cluster")
	c.Flags().BoolVar(&unsigned, "unsigned", false, "let signatures count no longer: services start without a list of signers")
	return c
}

// initialize creates the streams. With a list of signers it records in them that signatures count; unsigned records
// that they no longer do.
func (g operations) initialize(s bus.Streams, unsigned bool) error {
	err := s.Init(g.app.soft)
	if err == nil && unsigned {
		err = s.Demand(g.app.soft, false)
	}
	return err
}

func (g operations) configCommand() *cobra.Command {
	validate := &cobra.Command{
		Use: "validate [FILE]", Short: "Check the settings in environment and configuration file, jobgraph.yaml of this folder if none is given, and the experts that it names", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && g.app.settings.Config == "" && regular(folderConfig) {
				args = []string{folderConfig}
			}
			if len(args) == 1 {
				g.app.config = args[0]
				if err := g.app.check(g.app); err != nil {
					return err
				}
			}
			if _, err := g.app.address(); err != nil {
				return err
			}
			if _, _, err := stack.ReadConfig(g.app.settings.Config, g.app.sys.Env); err != nil {
				return err
			}
			if g.app.machine() {
				return output.Value(g.app.sys.Stdout, g.app.output, map[string]bool{"valid": true})
			}
			return g.app.printf("the settings are good\n")
		},
	}
	show := &cobra.Command{
		Use: "print", Short: "Print every setting, model and expert, its value and where it came from; secrets are masked", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table := output.Table{Head: []string{"SETTING", "VALUE", "SOURCE", "VARIABLE"}, WideHead: []string{"DEFAULT", "MEANING"}}
			file, cards, err := stack.ReadConfig(g.app.settings.Config, g.app.sys.Env)
			if err != nil {
				return err
			}
			for _, s := range slices.Concat(g.app.flags.List(), file.Shown(), shownCards(cards)) {
				table.Rows = append(table.Rows, output.Row{
					Name: s.Name, Value: s, Cells: []string{s.Name, dash(s.Value), string(s.Source), dash(s.Env)}, Wide: []string{dash(s.Default), s.Usage},
				})
			}
			return g.app.write(table)
		},
	}
	return group("config", "Check and print the settings", validate, show)
}

// shownCards lists the configured experts as settings.
func shownCards(cards []events.Card) []host.Setting {
	list := make([]host.Setting, len(cards))
	for i, c := range cards {
		list[i] = host.Setting{Name: "experts." + c.ID, Value: c.Kind, Usage: c.Description, Source: host.FromConfig}
	}
	return list
}
