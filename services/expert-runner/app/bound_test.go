package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// site counts who is at work at once.
type site struct {
	mu        sync.Mutex // Guards the fields below.
	now, most int
}

// work takes as long as its goal says, or until the runner dies.
func (s *site) work(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	took, err := time.ParseDuration(t.Work.Goal)
	if err != nil {
		return events.SubJobReported{}, err
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	return events.SubJobReported{}, ctx.Err()
}

// counted returns how many runs were executing at once, and how many are now; it then starts counting again.
func (s *site) counted() (most, now int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most, s.most = s.most, s.now
	return most, s.now
}

// bounded is a card that bounds a pool.
func bounded(name, pool string, most int) string {
	return fmt.Sprintf("---\nname: %s\nkind: human\npool: %s\npool_concurrency: %d\n---\nPlease.\n", name, pool, most)
}

// However many runners take work from a pool, and whenever they die, no more of its runs execute at once than a card says; and
// every run ends, so that no place is lost.
func TestABoundedPoolHasNoMoreRunsAtWorkOverAllRunners(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				chance := rand.New(rand.NewPCG(seed, 1))
				most, at := 1+chance.IntN(3), &site{}
				s := app.Default()
				s.Experts = []string{folder(t, map[string]string{"a.md": bounded("a", "mine", most)})}
				card := events.Card{ID: "dig", Name: "dig", Pool: "mine"}
				start := func(owner string) *servicetest.Service {
					return start(w, s, app.Deps{Owner: owner, Functions: []app.Function{{Card: card, Run: at.work}}})
				}
				var runners []*servicetest.Service
				for i := range 3 {
					runners = append(runners, start(fmt.Sprint("runner", i)))
				}
				var list []events.Work
				for i := range 12 {
					o := work("dig", fmt.Sprint("j", i), "a", 1)
					o.Goal = (time.Duration(chance.IntN(20)) * time.Second).String()
					state(w, o, true)
					w.Publish(w.Names.WorkFor("mine", "dig", o.Job, o.SubJob, o.Run), w.JSON(o))
					list = append(list, o)
				}
				for i := range 2 {
					<-time.After(time.Duration(chance.IntN(20_000)) * time.Millisecond)
					runners[i].Kill()
				}
				start("late")
				for _, o := range list {
					w.Report(o)
				}
				if had, now := at.counted(); had > most || now != 0 {
					t.Errorf("%d were at work at once, %d may be; %d still are", had, most, now)
				}
			})
		})
	}
}

// A bound appears, changes and disappears with its card; runners without one in their cards leave it alone.
func TestABoundFollowsItsCard(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		dir, at := folder(t, map[string]string{"a.md": bounded("a", "mine", 1)}), &site{}
		s := app.Default()
		s.Experts = []string{dir}
		dig := app.Function{Card: events.Card{ID: "dig", Name: "dig", Pool: "mine"}, Run: at.work}
		start(w, s, app.Deps{Owner: "one", Functions: []app.Function{dig}})
		start(w, app.Default(), app.Deps{Owner: "two", Functions: []app.Function{dig}})
		number := 0
		round := func() int {
			at.counted()
			var list []events.Work
			for range 6 {
				number++
				o := work("dig", fmt.Sprint("j", number), "a", 1)
				o.Goal = "1s"
				w.Publish(w.Names.WorkFor("mine", "dig", o.Job, o.SubJob, o.Run), w.JSON(o))
				list = append(list, o)
			}
			for _, o := range list {
				w.Report(o)
			}
			most, _ := at.counted()
			return most
		}
		if most := round(); most != 1 {
			t.Errorf("%d at once, want 1", most)
		}
		for _, bound := range []struct{ is, want int }{{3, 3}, {0, 6}} {
			place(t, dir+"/a.md", bounded("a", "mine", bound.is)+strings.Repeat(" ", bound.is))
			<-time.After(10 * time.Second) // Its file is checked every 2 s.
			if most := round(); most != bound.want {
				t.Errorf("bounded to %d: %d at once, want %d", bound.is, most, bound.want)
			}
		}
	})
}

func TestCardsThatBoundAPoolDifferentlyAreRefused(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": bounded("a", "mine", 1), "b.md": bounded("b", "mine", 2), "c.md": bounded("c", "other", 3), "d.md": bounded("d", "d", -1)})
	_, err := app.CheckCards([]string{dir + "/a.md", dir + "/b.md", dir + "/c.md"}, func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), "pool mine is bounded to 2 here, and to 1 by the card of a") || strings.Contains(err.Error(), "other") {
		t.Error(err)
	}
	if _, err := app.CheckCards([]string{dir + "/d.md"}, func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "pool_concurrency") {
		t.Error(err)
	}
}
