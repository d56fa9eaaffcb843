//go:build sweep

package endtoend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// shop is the outside world of the reference jobs: it accepts payments, serves pages, and counts both. It ignores
// idempotency keys: what is paid twice is paid twice.
type shop struct {
	url string

	mu    sync.Mutex
	paid  map[string]int // By order.
	shown map[string]int // By page.
}

// ServeHTTP takes POST /pay/ORDER, shows GET /page/NAME, and answers POST /did, which is a reconcile hook.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	name := path.Base(r.URL.Path)
	switch path.Dir(r.URL.Path) {
	case "/pay":
		s.paid[name]++
		_, _ = fmt.Fprintf(w, `{"receipt":%q}`, name) // The client may be gone.
	case "/page":
		s.shown[name]++
		_, _ = fmt.Fprintf(w, `"this is %s"`, name)
	default:
		body, err := io.ReadAll(r.Body)
		var q struct {
			Inputs struct {
				Effect struct {
					Args struct {
						Places map[string]string `json:"places"`
					} `json:"args"`
				} `json:"effect"`
			} `json:"inputs"`
		}
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, s.known(q.Inputs.Effect.Args.Places["inputs.order"]))
	}
}

// known returns the hook's answer about an order. The caller holds the lock.
func (s *shop) known(order string) string {
	if s.paid[order] > 0 {
		return fmt.Sprintf(`{"state":"done","result":{"receipt":%q}}`, order)
	}
	return `{"state":"not_done"}`
}

// person answers about a payment with an unknown outcome like a clerk who checks the shop's books.
func (s *shop) person(order string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paid[order] > 0 {
		return json.RawMessage(fmt.Sprintf(`{"choice":"success","output":{"receipt":%q}}`, order))
	}
	return json.RawMessage(`"retry"`)
}

// books returns payments and pages for the comparison: payments must be equal, pages may be read once more.
func (s *shop) books() (paid, shown map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paid, shown = map[string]int{}, map[string]int{}
	for name, n := range s.paid {
		paid[name] = n
	}
	for name, n := range s.shown {
		shown[name] = n
	}
	return paid, shown
}

// answerTo returns a person's answer to a request of a reference job.
func (s *shop) answerTo(c *errand, in *events.InputRequested) json.RawMessage {
	if in.Kind == events.InputUnknown {
		return s.person("7")
	}
	for text, answer := range c.people {
		if text == string(in.Kind) || text == in.Prompt {
			return json.RawMessage(answer)
		}
	}
	return json.RawMessage(`{"approved":true}`)
}
