package intake

import "testing"

func TestAGaugeAddsUpJobsAndKeepsTheLastEventOfEachPartition(t *testing.T) {
	g := NewGauge(2)
	first, second := g.Of(0), g.Of(1)
	first.Set(3, 7)
	second.Set(4, 9)
	<-g.Changed()
	second.Set(4, 0) // A step that has received nothing.
	if now, want := g.Here(), (Motion{Jobs: 7, Seen: 9}); now != want {
		t.Errorf("%+v, want %+v", now, want)
	}
	select {
	case <-g.Changed():
		t.Error("the same load counts as a change")
	default:
	}
}
