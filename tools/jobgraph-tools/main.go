package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/jobgraph/jobgraph/tools/internal/browser"
	"github.com/jobgraph/jobgraph/tools/internal/place"
	"github.com/jobgraph/jobgraph/tools/internal/serve"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jobgraph-tools:", err)
		os.Exit(1)
	}
}

// relay is the descriptor of the connection to the relay of the runner.
const relay = 3

func run(args []string) error {
	flags := flag.NewFlagSet("jobgraph-tools", flag.ContinueOnError)
	chromium := flags.String("browser", "", "path of a headless Chromium: serves the tool browser alone, whose connections go over descriptor 3")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "jobgraph-tools speaks MCP on standard input and output, with tools for the files of its working folder.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	version := "dev"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	if flags.Arg(0) == "version" {
		_, err := fmt.Println("jobgraph-tools", version)
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: jobgraph-tools -h tells what there is", flags.Arg(0))
	}
	dir, err := place.Open(".")
	if err != nil {
		return err
	}
	settings := serve.Settings{Dir: dir, Version: version}
	if *chromium != "" {
		b, err := browser.New(*chromium, os.TempDir(), os.NewFile(relay, "relay"))
		if err != nil {
			return err
		}
		defer b.Close()
		settings.Browser = b
	}
	return serve.Run(context.Background(), settings)
}
