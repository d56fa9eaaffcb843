package bus_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

func TestAnEarHearsAllSubjectsInOrder(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("ear")
	ear, err := b.Tap("a.*", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	for _, subject := range []string{"a.1", "b", "c", "a.2", "b"} {
		if err := b.PublishCore(subject, map[string][]string{"X": {subject}}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a.1", "b", "a.2", "b"} {
		m, err := ear.Next(t.Context())
		if err != nil || m.Subject != want || m.Get("X") != want || string(m.Body) != "x" || m.Reply != "" {
			t.Fatalf("%+v %v, want %s", m, err, want)
		}
	}
}
