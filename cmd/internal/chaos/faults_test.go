package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestMarksAreReadAsTheyAreAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks")
	add := func(text string) {
		t.Helper()
		file := musttest.Get(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(t)
		musttest.Get(file.WriteString(text))(t)
		musttest.Do(t, file.Close())
	}
	m, now := newMarksFile(path), time.Unix(1000, 0)
	for i, step := range []struct {
		added string
		want  int
	}{
		{fmt.Sprintf("begin j s 1 10 %d\n", now.UnixNano()), 1},
		{"begin j t 1 11 ", 1},                                // Incomplete.
		{fmt.Sprintf("%d\n", now.UnixNano()), 2},              // The rest of it.
		{fmt.Sprintf("end j s 1 10 %d\n", now.UnixNano()), 1}, // One has ended,
		{"alive j t 1\n", 1},                                  // and a damaged line changes nothing.
	} {
		if add(step.added); m.atWork(now) != step.want {
			t.Errorf("step %d: %d at work, want %d", i, m.atWork(now), step.want)
		}
	}
	if n := m.atWork(now.Add(recent)); n != 0 {
		t.Errorf("%d at work without a heartbeat", n)
	}
}

// An aimed fault that did not wait would meet no program, and one that waited for ever would end the campaign.
func TestAnAimedFaultWaitsForAProgramWithinLimits(t *testing.T) {
	const pause, begins = time.Second, 3 * time.Second
	for _, c := range []struct {
		name         string
		aimed, works bool
		least, most  time.Duration
	}{
		{"by its pause alone", false, true, pause, pause},
		{"for a program", true, true, begins, begins + aimEvery},
		{"in vain", true, false, pause + aimMost, pause + aimMost + aimEvery},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "marks")
				f := newFaults(nil, newLoad(nil, nil, path, false), rand.New(rand.NewPCG(1, 1)))
				begun := time.Now()
				if c.works {
					time.AfterFunc(begins, func() {
						if err := os.WriteFile(path, fmt.Appendf(nil, "begin j s 1 10 %d\n", time.Now().UnixNano()), 0o600); err != nil {
							t.Error(err)
						}
					})
				}
				over, err := f.await(t.Context(), nil, pause, c.aimed)
				if took := time.Since(begun); over || err != nil || took < c.least || took > c.most {
					t.Errorf("over %v, %v after %s, want %s to %s", over, err, took, c.least, c.most)
				}
				<-time.After(begins)
			})
		})
	}
}

func TestTheWaitBeforeAFaultEndsWithTheCampaign(t *testing.T) {
	f := newFaults(nil, newLoad(nil, nil, filepath.Join(t.TempDir(), "marks"), false), rand.New(rand.NewPCG(1, 1)))
	end := make(chan time.Time, 1)
	end <- time.Now()
	if over, err := f.await(t.Context(), end, time.Hour, true); !over || err != nil {
		t.Errorf("over %v, %v", over, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.await(ctx, nil, time.Hour, true); err == nil {
		t.Error("a cancelled campaign goes on")
	}
}
