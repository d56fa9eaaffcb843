package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// localWait limits the wait for model servers on this machine.
const localWait = 150 * time.Millisecond

// localModel is a model served on this machine.
type localModel struct{ server, address, model string }

// localModels asks the two usual model servers on this machine, at the loopback address only, and returns the model of the first
// that answers: Ollama, then llama.cpp. ok is false if neither does in time.
func localModels(ctx context.Context, env host.Env) (m localModel, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, localWait)
	defer cancel()
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // It uses no proxy of the environment.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	servers := []func() localModel{
		func() localModel { return ollama(ctx, client, ollamaPort(env)) },
		func() localModel { return llamaCpp(ctx, client, port(env, "LLAMA_ARG_PORT", "8080")) },
	}
	found := make([]chan localModel, len(servers))
	for i, ask := range servers {
		found[i] = make(chan localModel, 1)
		go func() { found[i] <- ask() }() // Ends with ctx; the answer is received below.
	}
	for i := range found {
		if answer := <-found[i]; answer.model != "" && !ok {
			m, ok = answer, true
		}
	}
	return m, ok
}

// addLocal makes a stack without a model use one that is served on this machine, and names it.
func (g runs) addLocal(s *stack.Settings) {
	m, ok := localModels(g.app.soft, s.Env)
	if !ok {
		return
	}
	g.app.note("using %s of %s at %s, since there is no other model", output.Visible(m.model), m.server, m.address)
	env := s.Env
	s.Env = func(name string) (string, bool) {
		switch name {
		case "OPENAI_BASE_URL":
			return m.address, true
		case "OPENAI_MODEL":
			return m.model, true
		}
		return env(name)
	}
}

// nameAccount says which provider's key decides about the model, if one does.
func (g runs) nameAccount(s *stack.Settings) {
	a, model, ok := s.Account()
	if !ok || s.Model != "" && len(a.Also) == 0 {
		return
	}
	also := ""
	if len(a.Also) > 0 {
		also = "; also set: " + strings.Join(a.Also, ", ") + " (--model chooses)"
	}
	g.app.note("using %s of %s, by %s%s", output.Visible(model), a.Name, a.Variable, also)
}

// ollama returns the model that Ollama used last.
func ollama(ctx context.Context, client *http.Client, port string) localModel {
	var tags struct {
		Models []struct{ Name string }
	}
	address := loopback(port)
	if !getJSON(ctx, client, address+"/api/tags", &tags) {
		return localModel{}
	}
	for _, m := range tags.Models { // Models for embedding cannot chat.
		if m.Name != "" && !strings.Contains(m.Name, "embed") && !strings.HasPrefix(m.Name, "bge") {
			return localModel{"Ollama", address + "/v1", m.Name}
		}
	}
	return localModel{}
}

// llamaCpp returns the model of a llama.cpp server. Other programs use the port as well, so the list of models has to identify the
// server.
func llamaCpp(ctx context.Context, client *http.Client, port string) localModel {
	var list struct {
		Data []struct {
			ID    string
			Owner string `json:"owned_by"`
		}
	}
	address := loopback(port)
	if !getJSON(ctx, client, address+"/v1/models", &list) || len(list.Data) == 0 || list.Data[0].Owner != "llamacpp" {
		return localModel{}
	}
	return localModel{"llama.cpp", address + "/v1", list.Data[0].ID}
}

func loopback(port string) string { return "http://" + net.JoinHostPort("127.0.0.1", port) }

// port returns the port in a variable, or the usual one.
func port(env host.Env, name, usual string) string {
	value, _ := env(name)
	if _, err := net.LookupPort("tcp", value); err != nil || value == "" {
		return usual
	}
	return value
}

// ollamaPort returns the port in OLLAMA_HOST. Its host is ignored: only this machine is asked.
func ollamaPort(env host.Env) string {
	const usual = "11434"
	value, _ := env("OLLAMA_HOST")
	if _, rest, found := strings.Cut(value, "://"); found {
		value = rest
	}
	_, number, err := net.SplitHostPort(strings.TrimRight(value, "/"))
	if err != nil {
		return usual
	}
	return cmp.Or(number, usual)
}

// getJSON gets a JSON object; false if there is none.
func getJSON(ctx context.Context, client *http.Client, url string, into any) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }() // It is only read.
	return answer.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(into) == nil
}
