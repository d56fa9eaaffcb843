package main

import (
	"context"
	"os"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/gateway/app"
)

func main() {
	var settings app.Settings
	os.Exit(host.Main(host.OS(), host.Program{
		Name:     "gateway",
		About:    "serves the HTTP API",
		HTTPAddr: app.DefaultAddr,
		Declare:  settings.Declare,
		Run: func(ctx context.Context, p *host.Process) error {
			return app.Run(ctx, p, settings, app.Deps{})
		},
	}))
}
