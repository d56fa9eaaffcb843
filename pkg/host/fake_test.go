package host_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environment is a fixed set of variables.
func environment(vars map[string]string) host.Env {
	return func(name string) (string, bool) {
		value, found := vars[name]
		return value, found
	}
}

// faults returns the faults of an error, without the folder of the file.
func faults(t *testing.T, err error) host.Faults {
	t.Helper()
	var all host.Faults
	if err == nil {
		return nil
	}
	if !errors.As(err, &all) {
		t.Fatalf("error %v (%T) is no Faults", err, err)
	}
	var short host.Faults
	for _, fault := range all {
		if fault.File != "" {
			fault.File = filepath.Base(fault.File)
		}
		short = append(short, fault)
	}
	return short
}

// lines returns the faults in the form for people.
func lines(t *testing.T, err error) []string {
	t.Helper()
	var text []string
	for _, fault := range faults(t, err) {
		text = append(text, fault.Error())
	}
	return text
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}
