package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/jobgraph/jobgraph/examples/internal/scan"
	"github.com/jobgraph/jobgraph/examples/internal/step"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

func main() {
	only := flag.String("only", "", "kind of files to read: code, text, or nothing for both")
	flag.Parse()
	if *only != "" && *only != scan.Code && *only != scan.Text {
		fmt.Fprintf(os.Stderr, "-only is %q: give code or text, or leave it out\n", *only)
		os.Exit(2)
	}
	task.Main(step.Extract(*only))
}
