package main

import (
	"context"
	"os"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func main() {
	box := app.HookSandbox()
	settings := app.Default()
	os.Exit(host.Main(host.OS(), host.Program{
		Name: "expert-runner", About: "Executes SubJobs by models with tools, programs, Go functions and foreign workers.", Declare: settings.Declare,
		Run: func(ctx context.Context, p *host.Process) error {
			return app.Run(ctx, p, settings, app.Deps{Sandbox: box})
		},
	}))
}
