package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// Verbs executes verbs for users. Errors are *events.Fault, events.Faults and those of the bus.
type Verbs interface {
	// Do executes a verb; in is a JSON object.
	Do(ctx context.Context, who identity.Identity, verb string, in any) (json.RawMessage, error)
	// File returns a file of a job of at most this many bytes, with its media type.
	File(ctx context.Context, who identity.Identity, in verb.ArtifactRef, most int64) (body []byte, media string, err error)
	// Fault converts an error to a fault.
	Fault(err error) *events.Fault
}

// Jobs follows jobs for users. Errors are those of Verbs.
type Jobs interface {
	// Await follows a job until it has ended, asks for input other than the requests in but, or the time is up. It calls moved
	// whenever the job has progressed, and as a sign of life.
	Await(ctx context.Context, who identity.Identity, in *verb.Waiting, but []string, moved func(*verb.Waited)) (*verb.Waited, error)
	// Standing returns the present state of a job.
	Standing(ctx context.Context, who identity.Identity, job string) (*verb.Waited, error)
	// MayAnswer reports whether a user may answer a question.
	MayAnswer(who identity.Identity, q *verb.Question) bool
}

// Room bounds what waits for people.
type Room interface {
	// Hold does something that lasts until a person has answered, in one of the places for streams, until ctx or the gateway ends,
	// or the user loses the rights.
	Hold(ctx context.Context, who identity.Identity, do func(context.Context) error) error
}

// Door is everything that a Server calls.
type Door interface {
	Verbs
	Jobs
	Room
}

// Settings configure a Server.
type Settings struct {
	// Door executes the calls.
	Door Door
	// Version is the version of the program.
	Version string
	// Local is the user of standard input and output.
	Local identity.Identity
	// Log gets protocol errors.
	Log *slog.Logger
	// Body limits a message, in bytes.
	Body int64
	// Sessions limits the sessions of clients that speak revisions before 2026-07-28.
	Sessions int
}

// Server serves clients. It is safe for concurrent use.
type Server struct {
	Settings
	sdk *sdk.Server

	mu     sync.Mutex        // Guards owners.
	owners map[string]string // The users of sessions, by their ids.
}

// instructions tell a model how to use the tools together.
const instructions = `Jobgraph runs jobs: a goal is planned into steps that experts execute, durably.
submit starts a job and returns its job_id at once; wait says how it goes on and gives its result. If wait returns inputs, the job asks a
person something: put it to the user, send what the user says with answer, then wait again. Never answer for the user. why says what a job
waits for, stop ends it, fork tries it again from one of its steps with changes, diff compares two jobs. A fault says in its hint what to
do next.`

// New returns a server.
func New(s Settings) *Server {
	out := &Server{Settings: s, owners: map[string]string{}}
	capabilities := &sdk.ServerCapabilities{
		Completions: &sdk.CompletionCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Tools: &sdk.ToolCapabilities{},
	}
	capabilities.AddExtension(tasksExtension, nil)
	out.sdk = sdk.NewServer(&sdk.Implementation{Name: "jobgraph", Title: "Jobgraph", Version: s.Version}, &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(warnings{s.Log.Handler()}), Capabilities: capabilities, CompletionHandler: out.complete,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }, // The answer depends on the user's roles.
	})
	out.addTools()
	out.addResources()
	out.addTasks()
	out.sdk.AddReceivingMiddleware(out.identify, out.lists, out.tasks)
	return out
}

type whoKey struct{}

// who returns the user behind a request.
func who(ctx context.Context) identity.Identity {
	i, _ := ctx.Value(whoKey{}).(identity.Identity)
	return i
}

// The fields in which an HTTP request carries its user and its context.
const identityField, requestField = "identity", "request"

// identify stores the user of a request: over HTTP that is the owner of each request's token, not of its session's.
func (s *Server) identify(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (out sdk.Result, err error) {
		defer func() { // A request that runs into a bug must not end the process for all others.
			if cause := recover(); cause != nil {
				s.Log.Error("request panicked", "method", method, "cause", cause)
				out, err = nil, s.protocol(&events.Fault{Code: events.CodeInternal, Message: "the gateway failed because of a bug in it", Hint: "its log says where"})
			}
		}()
		asking := s.Local
		if extra := r.GetExtra(); extra != nil && extra.TokenInfo != nil {
			asking, _ = extra.TokenInfo.Extra[identityField].(identity.Identity)
		}
		return next(context.WithValue(ctx, whoKey{}, asking), method, r)
	}
}

// capabilities returns the capabilities of a request's client; never nil.
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

// modern reports whether a request belongs to the revision 2026-07-28 or later: then the server sends no requests itself.
func modern(r sdk.Request) bool {
	asked, ok := r.(interface{ ProtocolVersion() string })
	return ok && asked.ProtocolVersion() >= "2026-07-28"
}
