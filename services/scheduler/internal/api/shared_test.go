package api

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Many who ask while an answer is made share the next one, which is made after they asked.
func TestAnAnswerIsSharedByThoseWhoAskBeforeItIsBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		var n atomic.Int64
		release := make(chan struct{})
		produce := func() (any, error) {
			<-release
			return n.Add(1), nil
		}
		answers := make(chan any, 101)
		ask := func() {
			answer, err := s.get(produce)
			if err != nil {
				t.Error(err)
			}
			answers <- answer
		}
		go ask()
		synctest.Wait() // The first answer is being made.
		for range 100 {
			go ask()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		counts := map[any]int{}
		for range 101 {
			counts[<-answers]++
		}
		if counts[int64(1)] != 1 || counts[int64(2)] != 100 {
			t.Errorf("answers by number: %v", counts)
		}
	})
}
