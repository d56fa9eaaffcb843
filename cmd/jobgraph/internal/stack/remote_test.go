package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// remembering speaks A2A and gives every conversation the same id. told returns the ids that it was told, one for each message.
func remembering(t *testing.T) (card string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	var at string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".json") {
			_, _ = fmt.Fprintf(w, `{"name":"Desk","description":"Remembers","version":"1","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, at+"/call")
			return
		}
		var q struct {
			ID     json.RawMessage `json:"id"`
			Params struct {
				Message struct {
					Context string `json:"contextId"`
				} `json:"message"`
			} `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q) // The test would see it.
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, q.Params.Message.Context)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"task":{"id":"t%d","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"done"}]}]}}}`, q.ID, len(ids))
	}))
	t.Cleanup(server.Close)
	at = server.URL
	card = musttest.Temp(t, "desk.md", "---\nname: Desk\nkind: a2a\na2a: {agent: \""+at+"\", allow_addresses: [127.0.0.0/8]}\n---\n")
	return card, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(ids)
	}
}

// A runner has a scheduler keep the id by which its remote agent knows a session.
func TestARemoteAgentKnowsASessionAgainWithPermissionsForEveryRole(t *testing.T) {
	card, told := remembering(t)
	l, k := fortress(t, secure.Change{}, card)
	c := enter(t, l, k, "client")
	for range 2 {
		job := musttest.Get(c.Submit(t.Context(), events.Request{Goal: "go", Expert: "Desk", Session: "s"}))(t)
		if end, err := c.Wait(t.Context(), job); err != nil || end.Status != events.Finished {
			t.Fatalf("%+v %v", end, err)
		}
	}
	if got := told(); !slices.Equal(got, []string{"", "c"}) {
		t.Errorf("the agent was told the ids %q", got)
	}
}
