package bench

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

func TestABenchGivesUpAJobThatDoesNotEndAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ends{said: make(chan *nats.Msg, 2)}
		e.said <- &nats.Msg{Subject: "run0-0"}
		e.said <- &nats.Msg{Subject: "run0-2"}
		err := e.all(t.Context(), "run0", make([]baseline.Graph, 3), func(subject string, _ []byte) (string, error) { return subject, nil })
		if !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "run0-1:") {
			t.Errorf("got %v", err)
		}
		if _, err := await(t.Context(), make(chan int)); !errors.Is(err, errStuck) {
			t.Errorf("got %v", err)
		}
	})
}
