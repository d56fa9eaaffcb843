package bench

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// trialCommand makes one measurement in this process and prints it as JSON.
func trialCommand(o Options) *cobra.Command {
	return &cobra.Command{
		Use: "trial ORDER", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t trial
			if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			self, err := o.self()
			if err != nil {
				return err
			}
			t.log = newLog(cmd.ErrOrStderr())
			s, err := t.run(cmd.Context(), self)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
		},
	}
}

// partCommand runs one part according to an order.
func partCommand() *cobra.Command {
	return &cobra.Command{
		Use: "part ORDER", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p order
			if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			return runPart(cmd.Context(), p, cmd.InOrStdin(), cmd.OutOrStdout(), newLog(cmd.ErrOrStderr()))
		},
	}
}

// probeCommand runs a workload without a baseline in this process and prints its measures as JSON.
func probeCommand(o Options) *cobra.Command {
	return &cobra.Command{
		Use: "probe ORDER", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p probe
			if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			self, err := o.self()
			if err != nil {
				return err
			}
			stop, err := profile(p.Profile, p.Workload+"-probe")
			if err != nil {
				return err
			}
			p.log = newLog(cmd.ErrOrStderr())
			list, err := p.run(cmd.Context(), self)
			if err := errors.Join(err, stop()); err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
		},
	}
}

// hangCommand is the command expert of the workload cancel.
func hangCommand(o Options) *cobra.Command {
	return &cobra.Command{
		Use: "hang ADDR [again]", Hidden: true, Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := o.self()
			if err != nil {
				return err
			}
			return hang(cmd.Context(), self, args[0], len(args) == 1)
		},
	}
}
