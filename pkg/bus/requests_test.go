package bus

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestAServiceStopsWhenWhatItAcceptedIsAnsweredAndAcceptsNothingBehindThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequests()
		var answered, late atomic.Int64
		hold := make(chan struct{})
		take := func() {
			q.take(func() {
				<-hold
				answered.Add(1)
			}, func() { late.Add(1) })
		}
		take()
		stopped := false
		go func() {
			q.close()
			stopped = true
		}()
		synctest.Wait()
		take() // It comes while one is under way.
		hold <- struct{}{}
		synctest.Wait()
		if stopped || answered.Load() != 1 {
			t.Error("stopped with a request under way")
		}
		hold <- struct{}{}
		synctest.Wait()
		if !stopped || answered.Load() != 2 || late.Load() != 0 {
			t.Errorf("stopped: %v, %d are answered, %d came too late", stopped, answered.Load(), late.Load())
		}
		close(hold)
		take()
		synctest.Wait()
		if answered.Load() != 2 || late.Load() != 1 {
			t.Errorf("behind the end %d are answered, %d came too late", answered.Load(), late.Load())
		}
	})
}

func TestRequestsWaitWhileTooManyAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequests()
		var begun atomic.Int64
		hold := make(chan struct{})
		go func() {
			for range concurrentRequests + 1 {
				q.take(func() {
					begun.Add(1)
					<-hold
				}, func() { t.Error("one was refused") })
			}
		}()
		for n := int64(concurrentRequests); n <= concurrentRequests+1; n++ {
			if synctest.Wait(); begun.Load() != n {
				t.Errorf("%d have begun, want %d", begun.Load(), n)
			}
			hold <- struct{}{}
		}
		close(hold)
		q.close()
	})
}
