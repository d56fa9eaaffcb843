package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
)

// row is one metric: its name, its value and its target. An empty target means that the row is informative.
type row struct {
	name, now, goal string
	// good reports whether the target is met.
	good bool
}

func main() {
	bin := flag.String("bin", "", "the folder with the programs to weigh")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: measure [-bin DIR] ROOT")
		os.Exit(2)
	}
	if err := measure(flag.Arg(0), *bin); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func measure(root, bin string) error {
	tree, err := lint.Load(os.DirFS(root))
	if err != nil {
		return err
	}
	program, err := load(root)
	if err != nil {
		return err
	}
	rows := program.methodSets()
	rows = append(rows, program.stepState()...)
	rows = append(rows, sourceLines(tree)...)
	rows = append(rows, testLines(tree)...)
	rows = append(rows, words(tree), unplaced(tree))
	if bin != "" {
		sizes, err := weigh(bin)
		if err != nil {
			return err
		}
		rows = append(rows, sizes...)
	}
	return show(rows)
}

func show(rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tnow\twanted\t")
	for _, r := range rows {
		verdict := ""
		switch {
		case r.goal == "":
		case r.good:
			verdict = "ok"
		default:
			verdict = "not yet"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.name, r.now, r.goal, verdict)
	}
	return w.Flush()
}

// atMost returns a row whose number has a maximum.
func atMost(name string, n, limit int) row {
	return row{name: name, now: fmt.Sprint(n), goal: fmt.Sprintf("≤ %d", limit), good: n <= limit}
}
