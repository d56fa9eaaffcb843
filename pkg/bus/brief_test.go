package bus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAQuestionThatWasLostIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		answer, err := repeat(t.Context(), func(ctx context.Context) (string, error) {
			if asked++; asked < 3 { // As while a cluster has no leader.
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "here", nil
		})
		if answer != "here" || err != nil || asked != 3 || time.Since(began) != 2*question {
			t.Errorf("%q, %v after %d questions and %s", answer, err, asked, time.Since(began))
		}
	})
}

func TestAQuestionIsNotAskedLongerThanItsCallerWaits(t *testing.T) {
	silent := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	for _, c := range []struct{ deadline, want time.Duration }{{0, askTimeout}, {time.Second, time.Second}, {time.Minute, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if c.deadline > 0 {
				bound, cancel := context.WithTimeout(ctx, c.deadline)
				defer cancel()
				ctx = bound
			}
			began := time.Now()
			if _, err := repeat(ctx, silent); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != c.want {
				t.Errorf("deadline %s: %v after %s", c.deadline, err, time.Since(began))
			}
		})
	}
}

func TestAnAnswerThatIsAnErrorIsNotAskedForAgain(t *testing.T) {
	asked := 0
	_, err := repeat(t.Context(), func(context.Context) (int, error) {
		asked++
		return 0, ErrNotFound
	})
	if !errors.Is(err, ErrNotFound) || asked != 1 {
		t.Errorf("%v after %d questions", err, asked)
	}
}
