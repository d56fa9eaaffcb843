package main

import (
	"os"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
)

func main() { os.Exit(cli.Main(cli.OS())) }
