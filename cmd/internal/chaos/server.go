package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"
)

// ServerOrder describes a server process.
type ServerOrder struct {
	Name  string `json:"name"`
	Port  int    `json:"port"`
	Store string `json:"store"`
	// Peer is its port for the other servers of a cluster, whose addresses are Routes; 0 for a single server.
	Peer   int      `json:"peer,omitempty"`
	Routes []string `json:"routes,omitempty"`
	// Most limits its storage in bytes; 0 means no limit.
	Most int64 `json:"most,omitempty"`
	// Accounts is the file with the accounts and keys that it knows; empty for none.
	Accounts string `json:"accounts,omitempty"`
}

func (o *ServerOrder) text() (string, error) {
	text, err := json.Marshal(o)
	return string(text), err
}

// ServerCommand returns the hidden command that runs one server until it is asked to end.
func ServerCommand(use string) *cobra.Command {
	return &cobra.Command{
		Use: use + " ORDER", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var o ServerOrder
			if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			return o.run(cmd.Context())
		},
	}
}

// run serves until ctx ends. A campaign kills the process, not the machine, so what the operating system has accepted is
// not lost.
func (o *ServerOrder) run(ctx context.Context) error {
	options := &server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: o.Port, NoSigs: true, JetStream: true, StoreDir: o.Store,
	}
	options.JetStreamMaxStore = o.Most
	if o.Peer != 0 {
		options.Cluster = server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: o.Peer}
		for _, route := range o.Routes {
			u, err := url.Parse(route)
			if err != nil {
				return fmt.Errorf("route: %w", err)
			}
			options.Routes = append(options.Routes, u)
		}
	}
	if o.Accounts != "" {
		file, err := server.ProcessConfigFile(o.Accounts)
		if err != nil {
			return fmt.Errorf("read accounts: %w", err)
		}
		options.Accounts, options.Nkeys, options.Users = file.Accounts, file.Nkeys, file.Users
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("make server: %w", err)
	}
	s.ConfigureLogger()
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("server is not ready")
	}
	<-ctx.Done()
	return nil
}
