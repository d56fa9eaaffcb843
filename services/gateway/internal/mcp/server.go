package mcp

import (
	"context"
	"encoding/json"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// Verbs answers verbs for users. Errors are *events.Fault, events.Faults and those of the bus.
type Verbs interface {
	// Do answers a verb; in is a JSON object.
	Do(ctx context.Context, who identity.Identity, verb string, in any) (json.RawMessage, error)
	// File gives a file of a job that has at most so many bytes, with its media type.
	File(ctx context.Context, who identity.Identity, in verb.ArtifactRef, most int64) (body []byte, media string, err error)
	// Fault converts an error to a fault.
	Fault(err error) *events.Fault
}

// Jobs follows jobs for users. Errors are those of Verbs.
type Jobs interface {
	// Await follows a job until it has ended, asks for input that is not named in but, or the time is over. moved is called whenever it
	// has moved, and as a sign of life.
	Await(ctx context.Context, who identity.Identity, in *verb.Waiting, but []string, moved func(*verb.Waited)) (*verb.Waited, error)
	// Standing says where a job stands.
	Standing(ctx context.Context, who identity.Identity, job string) (*verb.Waited, error)
	// MayAnswer reports whether someone may answer a question.
	MayAnswer(who identity.Identity, q *verb.Question) bool
}

// Door is everything that a Server asks.
type Door interface {
	Verbs
	Jobs
}

// Settings configure a Server.
type Settings struct {
	// Door answers.
	Door Door
	// Version is that of the program.
	Version string
	// Local is who asks over standard input and output.
	Local identity.Identity
	// Log gets faults of the protocol.
	Log *slog.Logger
	// Body limits a message in bytes.
	Body int64
	// Sessions limits those of clients that speak revisions before 2026-07-28.
	Sessions int
}

// Server serves clients. Safe for concurrent use.
type Server struct {
	Settings
	sdk *sdk.Server
}

// instructions tell a model how the tools belong together.
const instructions = `Jobgraph runs jobs: a goal is planned into steps that experts execute, durably.
submit starts a job and returns its job_id at once; wait says how it goes on and gives its result. If wait returns inputs, the job asks a
person something: put it to the user, send what the user says with answer, then wait again. Never answer for the user. why says what a job
waits for, stop ends it, fork tries it again from one of its steps with changes, diff compares two jobs. A fault says in its hint what to
do next.`

// New returns a server.
func New(s Settings) *Server {
	out := &Server{Settings: s}
	capabilities := &sdk.ServerCapabilities{
		Completions: &sdk.CompletionCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Tools: &sdk.ToolCapabilities{},
	}
	capabilities.AddExtension(tasksExtension, nil)
	out.sdk = sdk.NewServer(&sdk.Implementation{Name: "jobgraph", Title: "Jobgraph", Version: s.Version}, &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(warnings{s.Log.Handler()}), Capabilities: capabilities, CompletionHandler: out.complete,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }, // Roles differ.
	})
	out.addTools()
	out.addResources()
	out.addTasks()
	out.sdk.AddReceivingMiddleware(out.identify, out.lists, out.tasks)
	return out
}

type whoKey struct{}

// who is who asks.
func who(ctx context.Context) identity.Identity {
	i, _ := ctx.Value(whoKey{}).(identity.Identity)
	return i
}

// identityField is where a request over HTTP carries who asks.
const identityField = "identity"

// identify enters who asks: over HTTP that is the token of each request, not that of its session.
func (s *Server) identify(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (out sdk.Result, err error) {
		defer func() { // A request that meets a bug must not end the process with all others.
			if cause := recover(); cause != nil {
				s.Log.Error("request panicked", "method", method, "cause", cause)
				out, err = nil, s.protocol(&events.Fault{Code: events.CodeInternal, Message: "the gateway met a bug of its own", Hint: "its log says where"})
			}
		}()
		asking := s.Local
		if extra := r.GetExtra(); extra != nil && extra.TokenInfo != nil {
			asking, _ = extra.TokenInfo.Extra[identityField].(identity.Identity)
		}
		return next(context.WithValue(ctx, whoKey{}, asking), method, r)
	}
}

// capabilities are what the client of a request can do; never nil.
func capabilities(r sdk.Request) *sdk.ClientCapabilities {
	if asked, ok := r.(interface {
		ClientCapabilities() *sdk.ClientCapabilities
	}); ok {
		if c := asked.ClientCapabilities(); c != nil {
			return c
		}
	}
	return &sdk.ClientCapabilities{}
}

// modern reports whether a request is one of the revision 2026-07-28 or later: then the server sends no requests of its own.
func modern(r sdk.Request) bool {
	asked, ok := r.(interface{ ProtocolVersion() string })
	return ok && asked.ProtocolVersion() >= "2026-07-28"
}
