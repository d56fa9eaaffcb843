package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// idle is how long a session may be unused before it ends.
const idle = 30 * time.Minute

// Handler serves clients over streamable HTTP after the guard has identified the user. Requests of the revision 2026-07-28 need no
// session, so that any gateway can answer them; those of earlier revisions have a session at this gateway, in which it can ask the
// person at the client.
func (s *Server) Handler() func(http.ResponseWriter, *http.Request, identity.Identity) *events.Fault {
	serve := func(stateless bool) http.Handler {
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: slog.New(warnings{s.Log.Handler()}), SessionTimeout: idle, MaxRequestBodyBytes: s.Body, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // The gateway's guard has already checked Host and Origin, and allows additional names.
		})
		return auth.RequireBearerToken(told, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	sessions, each := serve(false), serve(true)
	return func(w http.ResponseWriter, r *http.Request, asking identity.Identity) *events.Fault {
		r = r.Clone(context.WithValue(r.Context(), whoKey{}, asking))
		r.Header.Set("Authorization", "Bearer known") // The SDK requires this header, also with a cookie; the identity comes from told.
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			each.ServeHTTP(w, r)
			return nil
		}
		begins := r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == ""
		if begins && s.full(asking.User) {
			return &events.Fault{Code: events.CodeTooMany, Message: "there are too many sessions; the last ones are for users who have few", Hint: "end some, speak the revision 2026-07-28, which needs none, or start another gateway"}
		}
		sessions.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); begins && id != "" {
			s.mu.Lock()
			s.owners[id] = asking.User
			s.mu.Unlock()
		}
		return nil
	}
}

// warnings passes on only warnings and errors: the SDK logs each connection, and in the newest revision every request is a
// connection.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// full reports whether a user may have no more sessions. It forgets the owners of those that have ended.
func (s *Server) full(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, mine, living := 0, 0, map[string]string{}
	for session := range s.sdk.Sessions() {
		all++
		owner, known := s.owners[session.ID()]
		if !known {
			continue // It is about to be noted, or a request of a revision without sessions.
		}
		living[session.ID()] = owner
		if owner == user {
			mine++
		}
	}
	s.owners = living
	return !identity.Room(s.Sessions, all, mine)
}

// told returns the identity that the gateway's guard has found. A session belongs to the user who began it, in the same roles: what it
// asks its person is answered with the rights of the call that waits for it.
func told(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	asking := who(ctx)
	roles := slices.Sorted(slices.Values(asking.Roles))
	return &auth.TokenInfo{UserID: fmt.Sprintf("%q %q", asking.User, roles), Extra: map[string]any{identityField: asking, requestField: ctx}}, nil
}
