package route

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/history"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
	"github.com/jobgraph/jobgraph/services/gateway/internal/webhook"
)

// Settings configure a Gateway.
type Settings struct {
	// Client is the connection to the bus.
	Client *client.Client
	// Guard identifies users.
	Guard *identity.Guard
	// Rate is how many requests a user may make per second, 0 for no limit; Body limits a request in bytes.
	Rate int
	Body int64
	// Streams limits the open streams of all users; Beat is the time between two signs of life on a quiet stream; Write is how long a
	// reader may take nothing before its connection is closed.
	Streams int
	Beat    time.Duration
	Write   time.Duration
	// Webhooks are the targets that get notices about jobs.
	Webhooks []webhook.Target
	// Health says why the process is not ready.
	Health func(ctx context.Context) []host.Reason
	// Notes says what is noted about the process although it is ready; nil for nothing.
	Notes func() []host.Reason
	// Version is the version of the program.
	Version string
	// Log gets one line for each verb that changes something, and for each refusal.
	Log *slog.Logger
}

// Gateway answers the routes of the table. It is safe for concurrent use.
type Gateway struct {
	Settings
	limits  *identity.Limits
	feeds   *stream.Feeds
	history *history.Cache
	inputs  map[string]form // By verb.
	streams *identity.Places
	mux     *http.ServeMux
	end     context.Context // Ends all streams. It is stored because a gateway serves until then.
}

// New returns a gateway whose streams end with end.
func New(end context.Context, s Settings) *Gateway {
	g := &Gateway{Settings: s, limits: identity.NewLimits(s.Rate), streams: identity.NewPlaces(s.Streams), feeds: stream.NewFeeds(s.Client), history: history.New(s.Client), inputs: map[string]form{}, mux: http.NewServeMux(), end: end}
	for _, v := range verb.All() {
		if v.Path == "" {
			continue
		}
		g.inputs[v.Name] = formOf(&v)
		for _, path := range v.Paths() {
			g.mux.Handle(v.Method+" "+path, g.serve(v))
		}
	}
	g.mux.HandleFunc("GET /openapi.json", g.document(func() any { return verb.OpenAPI(g.Version) }))
	g.mux.HandleFunc("GET /asyncapi.json", g.document(func() any { return verb.AsyncAPI(g.Version, g.Client.Names()) }))
	g.mux.HandleFunc("GET /{$}", g.index)
	g.mux.HandleFunc("GET /assets/{name}", g.asset)
	g.mux.HandleFunc("/", g.unknown)
	return g
}

// Routes returns the patterns under which a server has to mount the gateway.
func Routes() []string {
	return []string{"/api/", likeOpenAI, "/asyncapi.json", "/mcp", "/openapi.json", "/assets/", "/{$}"}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	defer g.rescue(w, r)
	g.mux.ServeHTTP(w, r)
}

// rescue handles a panic in the handler of a request.
func (g *Gateway) rescue(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // The server closes the connection.
	}
	g.Log.Error("request panicked", "path", r.URL.Path, "cause", cause)
	refuse(w, r, &events.Fault{Code: events.CodeInternal, Message: "the gateway failed because of a bug in it", Hint: "its log says where"})
}

// serve returns the handler of a verb: all routes make the same checks.
func (g *Gateway) serve(v verb.Verb) http.HandlerFunc {
	answer := g.answerer(v.Name)
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{gateway: g, verb: &v, w: w, r: r}
		who, fault := g.admit(w, r, &v)
		c.who = who // The log names also those who are refused.
		if fault == nil {
			c.r = r.WithContext(as(r.Context(), who))
			fault = c.read()
		}
		if fault == nil {
			fault = c.owned()
		}
		if fault != nil {
			g.audit(c, fault)
			refuse(w, r, fault)
			return
		}
		err := answer(c)
		if err != nil {
			fault = c.fail(err)
		}
		g.audit(c, fault)
	}
}

// as returns a context whose requests on the bus have the rights of a user, and not all of the gateway's.
func as(ctx context.Context, who identity.Identity) context.Context {
	rights := make([]string, len(who.Roles))
	for i, role := range who.Roles {
		rights[i] = string(role)
	}
	return bus.WithRights(ctx, rights...)
}

// admit returns the user of a request if they may use the verb.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, v *verb.Verb) (identity.Identity, *events.Fault) {
	if fault := g.Guard.Where(r); fault != nil {
		return identity.Identity{}, fault
	}
	who, fault := g.Guard.Who(r)
	switch {
	case fault != nil:
		w.Header().Set("WWW-Authenticate", `Bearer realm="jobgraph"`)
		return who, fault
	case !g.limits.Allow(who.User, 1):
		w.Header().Set("Retry-After", "1")
		return who, tooOften(who)
	case v != nil && !v.MayUse(who.Roles):
		return who, notPermitted(who, v)
	}
	return who, nil
}

// tooOften refuses a user who has used up the rate.
func tooOften(who identity.Identity) *events.Fault {
	return &events.Fault{Code: events.CodeTooMany, Message: "too many requests of " + who.Name(), Hint: "ask less often, or raise --rate (JOBGRAPH_RATE)"}
}

// audit logs who did what; reads are logged only if they were refused.
func (g *Gateway) audit(c *call, fault *events.Fault) {
	level := slog.LevelInfo
	if c.verb.Effect == verb.Read && (fault == nil || fault.Code != events.CodeNotPermitted && fault.Code != events.CodeUnauthenticated) {
		level = slog.LevelDebug
	}
	fields := []any{"user", c.who.Name(), "verb", c.verb.Name}
	if c.r.RemoteAddr != "" { // Calls from this process have no address.
		fields = append(fields, "remote", c.r.RemoteAddr)
	}
	if len(c.who.Roles) == 0 {
		fields[1] = ""
	}
	for _, name := range []string{"id", "request"} {
		if value := c.r.PathValue(name); value != "" {
			fields = append(fields, name, value)
		}
	}
	if c.made != "" {
		fields = append(fields, "job", c.made)
	}
	if fault != nil {
		fields = append(fields, "fault", string(fault.Code))
	}
	g.Log.Log(c.r.Context(), level, "request", fields...)
}

// document sends a description of the API.
func (g *Gateway) document(of func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, fault := g.admit(w, r, nil); fault != nil {
			refuse(w, r, fault)
			return
		}
		reply(w, r, http.StatusOK, of())
	}
}

// unknown refuses a path without a route, or a method that the path does not have.
func (g *Gateway) unknown(w http.ResponseWriter, r *http.Request) {
	if _, fault := g.admit(w, r, nil); fault != nil {
		refuse(w, r, fault)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := g.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuseAs(w, r, http.StatusMethodNotAllowed, &events.Fault{Code: events.CodeInvalid, Field: "method", Message: clip(r.Method) + " is not allowed here", Hint: "use " + strings.Join(allowed, " or ")})
		return
	}
	refuse(w, r, &events.Fault{Code: events.CodeNotFound, Field: "path", Message: "nothing is served at this path", Hint: "/openapi.json lists the routes"})
}
