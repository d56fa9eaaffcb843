package graph

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives generated histories a fixed seed, so that a run can be repeated; -rapid.seed=N tries others.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set("20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
