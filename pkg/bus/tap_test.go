package bus_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAnEarHearsAllSubjectsInOrder(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("ear")
	ear := musttest.Get(b.Tap("a.*", "b"))(t)
	defer ear.Close()
	for _, subject := range []string{"a.1", "b", "c", "a.2", "b"} {
		musttest.Do(t, b.PublishCore(subject, map[string][]string{"X": {subject}}, []byte("x")))
	}
	for _, want := range []string{"a.1", "b", "a.2", "b"} {
		m, err := ear.Next(t.Context())
		if err != nil || m.Subject != want || m.Get("X") != want || string(m.Body) != "x" || m.Reply != "" {
			t.Fatalf("%+v %v, want %s", m, err, want)
		}
	}
}
