package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Agents start this program again for each program that they run: it turns into that program before anything is initialised that
// only a runner needs.
func TestHelpersDoNotWaitForTheRestOfTheProgram(t *testing.T) {
	self := musttest.Get(os.Executable())(t)
	for name, args := range map[string][]string{"sandbox": {"--enter-sandbox", "x", "x"}, "keeper": {"--keep-programs", "no time"}} {
		c := exec.CommandContext(t.Context(), self, args...)
		c.Env = []string{"GODEBUG=inittrace=1"}
		var traced bytes.Buffer
		c.Stderr = &traced
		if err := c.Run(); err == nil {
			t.Errorf("%s: it has no order, and yet succeeded", name)
		}
		if !strings.Contains(traced.String(), "init runtime ") {
			t.Errorf("%s: nothing is traced: %s", name, traced.String())
		}
		for _, heavy := range []string{"github.com/santhosh-tekuri/", "github.com/prometheus/client_golang/prometheus ", "github.com/nats-io/nats-server/v2/server "} {
			if strings.Contains(traced.String(), heavy) {
				t.Errorf("%s: %s is initialised before", name, heavy)
			}
		}
	}
}
