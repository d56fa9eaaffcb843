package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// Why sessions end.
var (
	errStartTimeout = errors.New("it did not say in time what tools it has")
	errStuck        = errors.New("it accepts no messages any more")
	errLate         = errors.New("a call took too long")
	errDied         = errors.New("it has ended")
	errClosing      = errors.New("the runner is ending")
)

// keyMeta is the metadata key of a call's idempotency key.
const keyMeta = "io.jobgraph/idempotency_key"

// stuckAfter is how long a server may take to accept a message, and to answer a ping after a call that timed out.
const stuckAfter = 3 * time.Second

// session is one life of a server. It ends once, with a cause; done is closed when its connection is closed and its program has
// ended.
type session struct {
	server *server
	ctx    context.Context // Ends with the session.
	cancel context.CancelCauseFunc
	flow   *flow
	child  *child // nil for a remote server.
	idle   func() // Closes idle connections; may be nil.
	client *sdk.ClientSession
	began  time.Time
	done   chan struct{}

	listing chan struct{} // Holds one token, whose holder may request the list.

	mu     sync.Mutex // Guards the fields below.
	tools  []Listed
	digest string
	// changes counts the server's notifications that its tools have changed, known those that the list reflects.
	changes, known int
}

// open starts a server and asks for its tools. The session lives until end, or until the pool ends.
func (s *server) open(life context.Context) (*session, error) {
	x := &session{server: s, done: make(chan struct{}), began: time.Now(), listing: make(chan struct{}, 1)}
	x.ctx, x.cancel = context.WithCancelCause(life)
	x.flow = newFlow(s.config.ReplyLimit, x.began, func() { x.cancel(errFlood) })
	timer := time.AfterFunc(s.config.StartTimeout, func() { x.cancel(errStartTimeout) })
	defer timer.Stop()
	err := x.greet()
	if err == nil {
		return x, nil
	}
	if x.ctx.Err() != nil {
		err = context.Cause(x.ctx)
	}
	x.cancel(err)
	x.finish()
	return nil, x.blame(err)
}

// greet initialises the protocol.
func (x *session) greet() error {
	t, err := x.transport()
	if err != nil {
		return err
	}
	options := &sdk.ClientOptions{
		Logger: x.server.pool.settings.quiet(), Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { x.changed() },
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "jobgraph", Version: x.server.pool.settings.Version}, options)
	unhook := context.AfterFunc(x.ctx, x.kill) // A server that accepts no messages blocks the writer.
	defer unhook()
	if x.client, err = client.Connect(x.ctx, t, nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return x.list(x.ctx)
}

// list reads the tools and checks the pin.
func (x *session) list(ctx context.Context) error {
	x.mu.Lock()
	changes := x.changes
	x.mu.Unlock()
	list, err := listed(ctx, x.server.name, x.client)
	if err != nil {
		return err
	}
	d := digestOf(list)
	if pin := x.server.config.Pin; pin != "" && pin != d {
		return &pinError{server: x.server.name, found: d}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tools, x.digest, x.known = list, d, changes
	return nil
}

// changed notes that the server's tools have changed. It returns at once: the SDK, which calls it, reads nothing else meanwhile.
func (x *session) changed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes++
}

// stale reports whether the tools have changed since they were listed.
func (x *session) stale() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known != x.changes
}

// fresh reads the tools again if the server says that they have changed. If that fails, the session ends.
func (x *session) fresh(ctx context.Context) error {
	if !x.stale() {
		return nil
	}
	select {
	case x.listing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.listing }()
	if !x.stale() { // Another goroutine has read them meanwhile.
		return nil
	}
	limited, stop := context.WithTimeout(x.ctx, x.server.config.StartTimeout)
	defer stop()
	err := x.list(limited)
	if err != nil {
		x.cancel(err)
	}
	return err
}

// kill closes whatever a goroutine may be blocked on.
func (x *session) kill() {
	if x.child != nil {
		x.child.pipes.Mute()
	}
}

// watch waits for the end of a session and cleans up. It runs in a goroutine of the pool.
func (x *session) watch() {
	died := make(chan struct{})
	go func() { // Ends with the connection, which finish closes.
		defer close(died)
		_ = x.client.Wait() // The cause of the session's end has the reason.
	}()
	select {
	case <-died:
		x.cancel(errDied)
	case <-x.ctx.Done():
	}
	x.finish()
	<-died
}

// finish ends program and connection.
func (x *session) finish() {
	if x.child != nil {
		x.child.stop(x.grace())
	}
	if x.client != nil {
		_ = x.client.Close() // It may be closed already, and nothing is pending.
	}
	if x.idle != nil {
		x.idle()
	}
	close(x.done)
}

// grace is how long the program may take to end at each step: almost no time if it misbehaves.
func (x *session) grace() time.Duration {
	cause := context.Cause(x.ctx)
	var pin *pinError
	if errors.Is(cause, errDied) || errors.Is(cause, context.Canceled) || errors.As(cause, &pin) {
		return x.server.pool.settings.Grace
	}
	return time.Millisecond
}

// find returns a tool by its name for models.
func (x *session) find(name string) (Listed, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range x.tools {
		if t.Name == name {
			return t, true
		}
	}
	return Listed{}, false
}

// all returns the tools and their digest.
func (x *session) all() ([]Listed, string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tools, x.digest
}

// call calls a tool by the server's name of it.
func (x *session) call(ctx context.Context, title string, args any, key string) (string, error) {
	limited, stop := context.WithTimeout(ctx, x.server.config.Timeout)
	defer stop()
	unhook := context.AfterFunc(x.ctx, stop)
	defer unhook()
	params := &sdk.CallToolParams{Name: title, Arguments: args}
	if key != "" {
		params.Meta = sdk.Meta{keyMeta: key}
	}
	result, err := x.ask(limited, params)
	var refused *jsonrpc.Error
	switch {
	case err == nil && result.IsError:
		return "", errors.New(cmp.Or(textOf(result), "the tool has failed and does not say why"))
	case err == nil:
		return textOf(result), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%w: %w", expert.ErrUnknown, ctx.Err())
	case errors.Is(err, errNotSent):
		return "", fmt.Errorf("MCP server %s cannot be reached: %w", x.server.name, err)
	case errors.As(err, &refused) && !errors.Is(err, errLost) && x.ctx.Err() == nil:
		return "", fmt.Errorf("the server refuses the call: %s", refused.Message)
	case x.ctx.Err() == nil && limited.Err() != nil:
		x.late()
		return "", fmt.Errorf("MCP server %s has not answered within %s: %w", x.server.name, x.server.config.Timeout, expert.ErrUnknown)
	}
	why := x.why(err)
	x.cancel(errDied) // No further caller may use it.
	if x.server.config.Workspace {
		<-x.done
	}
	return "", fmt.Errorf("MCP server %s broke off: %w: %w", x.server.name, why, expert.ErrUnknown)
}

// why returns the cause of the session's end if it is known, else the error.
func (x *session) why(err error) error {
	if cause := context.Cause(x.ctx); cause != nil {
		return cause
	}
	return err
}

// ask calls a tool until ctx ends. A server that accepts no messages blocks only the writing goroutine, not the caller.
func (x *session) ask(ctx context.Context, params *sdk.CallToolParams) (result *sdk.CallToolResult, err error) {
	returned := make(chan struct{})
	var r *sdk.CallToolResult
	var failure error
	if !x.server.pool.run(func() { // Ends soon after ctx: no write takes longer than stuckAfter.
		r, failure = x.client.CallTool(ctx, params)
		close(returned)
	}) {
		return nil, errClosing
	}
	select {
	case <-returned:
		return r, failure
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// late handles a call that took too long. In a workspace nothing may change files after its call, so the program is ended; any
// other server also serves other runs, and is ended only if it does not answer.
func (x *session) late() {
	if !x.server.config.Workspace {
		x.test()
		return
	}
	x.cancel(errLate)
	<-x.done
}

// test ends the session unless the server still answers.
func (x *session) test() {
	ctx, stop := context.WithTimeout(x.ctx, stuckAfter)
	defer stop()
	if err := x.client.Ping(ctx, nil); err != nil && ctx.Err() != nil {
		x.cancel(errStuck)
	}
}

// blame adds the program's last output to an error, since that often contains the reason.
func (x *session) blame(err error) error {
	if x.child == nil {
		return err
	}
	if said := x.child.tail.Text(); said != "" {
		return fmt.Errorf("%w; it says: %s", err, said)
	}
	return err
}
