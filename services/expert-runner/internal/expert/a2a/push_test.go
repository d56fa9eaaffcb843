package a2a_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// A notification triggers a query at once, before the next one is due.
func TestANotificationMakesTheRunnerLook(t *testing.T) {
	for _, old := range []bool{false, true} {
		receiver := a2a.NewReceiver()
		notified := make(chan string, 100)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			receiver.ServeHTTP(w, r)
			notified <- r.URL.Path
		}))
		defer front.Close()
		looked := make(chan struct{})
		agent := a2atest.Start(t, a2atest.Settings{Old: old, Push: true}, func(s *a2atest.Stage) {
			s.Begin()
			s.Say(sdk.TaskStateWorking, "")
			<-looked
			s.Make("r", false, sdk.NewTextPart("done"))
			s.Say(sdk.TaskStateCompleted, "")
		})
		h := &hand{kept: func(key string) {
			if strings.HasSuffix(key, "/send") {
				close(looked)
			}
		}}
		c := a2a.Config{Agent: agent.URL, Mode: a2a.ModePush, PushURL: front.URL, Receiver: receiver, PollInterval: time.Hour}
		succeeded(t, runWork(t, c, h, work()), `"done"`)
		path := <-notified
		// Nothing is expected there any more.
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if w.Code != http.StatusNotFound {
			t.Errorf("%d", w.Code)
		}
		if n := len(agent.Heard()); n != 1 {
			t.Errorf("%d messages", n)
		}
	}
}

// After a crash the notifications have another address, which is sent to the agent.
func TestTheNextRunnerIsNotifiedToo(t *testing.T) {
	for _, old := range []bool{false, true} {
		receiver := a2a.NewReceiver()
		front := httptest.NewServer(receiver)
		defer front.Close()
		var agent *a2atest.Agent
		agent = a2atest.Start(t, a2atest.Settings{Old: old, Push: true}, func(s *a2atest.Stage) {
			s.Begin()
			s.Say(sdk.TaskStateWorking, "")
			// The message, the new address for notifications, and a query: the next query is in an hour, or after a
			// notification.
			for agent.Answered() < 3 {
				select {
				case <-time.After(time.Millisecond):
				case <-s.Ctx.Done():
					return
				}
			}
			s.Make("r", false, sdk.NewTextPart("done"))
			s.Say(sdk.TaskStateCompleted, "")
		})
		c := a2a.Config{Agent: agent.URL, Mode: a2a.ModePush, PushURL: front.URL, Receiver: receiver, PollInterval: time.Hour}
		h := &hand{}
		lost(t, c, h)
		succeeded(t, runWork(t, c, h, work()), `"done"`)
		if n := len(agent.Heard()); n != 1 {
			t.Errorf("%d messages", n)
		}
	}
}

func TestTheReceiverTakesOnlyWhatItCanProve(t *testing.T) {
	receiver := a2a.NewReceiver()
	front := httptest.NewServer(receiver)
	defer front.Close()
	wrong := make(chan int, 8)
	agent := a2atest.Start(t, a2atest.Settings{Push: true}, func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateCompleted, "done")
	})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, forge := range []func(q *http.Request){
			func(q *http.Request) {
				q.Header.Del("X-A2A-Notification-Token")
				q.Header.Del("A2A-Notification-Token")
			},
			func(q *http.Request) { q.Method = http.MethodGet },
			func(q *http.Request) { q.ContentLength, q.Body = -1, http.NoBody },
		} {
			q := r.Clone(r.Context())
			forge(q)
			answer := httptest.NewRecorder()
			receiver.ServeHTTP(answer, q)
			wrong <- answer.Code
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer proxy.Close()
	c := a2a.Config{Agent: agent.URL, Mode: a2a.ModePush, PushURL: proxy.URL, Receiver: receiver}
	succeeded(t, runWork(t, c, &hand{}, work()), `"done"`)
	for _, want := range []int{http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusNoContent} {
		if got := <-wrong; got != want && got != http.StatusNotFound {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
