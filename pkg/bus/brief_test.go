package bus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAQuestionThatWasLostIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		answer, err := repeat(t.Context(), nil, func(ctx context.Context) (string, error) {
			if asked++; asked < 3 { // Like a cluster without a leader.
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
			if _, err := repeat(ctx, nil, silent); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != c.want {
				t.Errorf("deadline %s: %v after %s", c.deadline, err, time.Since(began))
			}
		})
	}
}

func TestAnAnswerThatIsAnErrorIsNotAskedForAgain(t *testing.T) {
	asked := 0
	_, err := repeat(t.Context(), nil, func(context.Context) (int, error) {
		asked++
		return 0, ErrNotFound
	})
	if !errors.Is(err, ErrNotFound) || asked != 1 {
		t.Errorf("%v after %d questions", err, asked)
	}
}

func TestAClusterWithoutALeaderIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		answer, err := repeat(t.Context(), nil, func(context.Context) (string, error) {
			if asked++; asked < 5 {
				return "", []error{errNoLeader, &jetstream.APIError{ErrorCode: codeNoCluster}}[asked%2]
			}
			return "here", nil
		})
		if answer != "here" || err != nil || asked != 5 {
			t.Errorf("%q, %v after %d questions", answer, err, asked)
		}
	})
}
