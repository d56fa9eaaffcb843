package route

import (
	"net/http"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/gateway/internal/console"
)

// index takes the token out of an address. A browser gets the console, which contains no data and asks for a token itself; a
// program gets JSON.
func (g *Gateway) index(w http.ResponseWriter, r *http.Request) {
	if !g.Guard.Ours(r) {
		refuse(w, r, g.Guard.Where(r))
		return
	}
	browser := strings.Contains(r.Header.Get("Accept"), "text/html")
	done, fault := g.Guard.Enter(w, r)
	switch {
	case fault != nil && browser:
		show(w, r, http.StatusUnauthorized, console.Page())
		return
	case fault != nil:
		refuse(w, r, fault)
		return
	case done:
		return
	case browser:
		show(w, r, http.StatusOK, console.Page())
		return
	}
	if _, fault := g.admit(w, r, nil); fault != nil {
		refuse(w, r, fault)
		return
	}
	reply(w, r, http.StatusOK, map[string]string{"jobgraph": g.Version, "api": "/api/v1", "openai": "/v1", "openapi": "/openapi.json", "asyncapi": "/asyncapi.json", "mcp": "/mcp", "health": "/api/v1/health"})
}

// asset serves a file of the console. The files are the same for everyone, so they need no token.
func (g *Gateway) asset(w http.ResponseWriter, r *http.Request) {
	if !g.Guard.Ours(r) {
		refuse(w, r, g.Guard.Where(r))
		return
	}
	file, ok := console.Asset(r.PathValue("name"))
	if !ok {
		refuse(w, r, &events.Fault{Code: events.CodeNotFound, Field: "path", Message: "the console has no such file", Hint: "open / in a browser"})
		return
	}
	show(w, r, http.StatusOK, file)
}

// show sends a file of the console with its Content-Security-Policy.
func show(w http.ResponseWriter, r *http.Request, status int, f console.File) {
	w.Header().Set("Content-Security-Policy", console.Policy)
	send(w, r, status, f.Media, f.Body)
}
