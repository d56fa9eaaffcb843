package main

import (
	"context"
	"os"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/scheduler/app"
)

func main() {
	var settings app.Settings
	os.Exit(host.Main(host.OS(), host.Program{
		Name:    "scheduler",
		About:   "admits jobs, steps them by their events and issues their work",
		Declare: settings.Declare,
		Run: func(ctx context.Context, p *host.Process) error {
			return app.Run(ctx, p, settings, app.Deps{})
		},
	}))
}
