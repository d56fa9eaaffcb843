package bus

import (
	"testing"
	"testing/synctest"
)

func TestAServiceStopsWhenWhatItAcceptedIsAnsweredAndAcceptsNothingBehindThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequests()
		q.begin()
		stopped := false
		go func() {
			q.close()
			stopped = true
		}()
		synctest.Wait()
		if !q.begin() {
			t.Error("a request that came while one was under way was not accepted")
		}
		q.end()
		synctest.Wait()
		if stopped {
			t.Error("stopped with a request under way")
		}
		q.end()
		synctest.Wait()
		if !stopped || q.begin() {
			t.Errorf("stopped: %v, or it accepts more", stopped)
		}
	})
}
