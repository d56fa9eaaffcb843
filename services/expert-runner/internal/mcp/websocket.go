package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	ws "golang.org/x/net/websocket"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// protocolName is the subprotocol of a WebSocket that carries MCP.
const protocolName = "mcp"

// socket is a transport over a WebSocket: every text frame is one message.
type socket struct {
	config *Server
	flow   *flow
	// redactor removes secrets from the server's output.
	redactor *redact.Redactor
}

// Connect implements sdk.Transport.
func (s *socket) Connect(ctx context.Context) (sdk.Connection, error) {
	config, err := dialing(s.config)
	if err != nil {
		return nil, err
	}
	conn, err := config.DialContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return newSocket(conn, s.flow, s.config.ReplyLimit, s.redactor), nil
}

// dialing returns the library's configuration. The origin is the server's own, since no foreign page is involved.
func dialing(s *Server) (*ws.Config, error) {
	address, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	origin := url.URL{Scheme: "http" + strings.TrimPrefix(strings.ToLower(address.Scheme), "ws"), Host: address.Host}
	config, err := ws.NewConfig(s.URL, origin.String())
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	config.Protocol = []string{protocolName}
	config.Header = http.Header{}
	for name, value := range s.Headers { // any order: names are told apart.
		config.Header.Set(name, value)
	}
	return config, nil
}

// socketConn is a connection over a WebSocket.
type socketConn struct {
	conn    *ws.Conn
	framed  *framed
	decoder *json.Decoder
}

// framed limits the size of one message.
type framed struct {
	conn  *ws.Conn
	flow  *flow
	limit int
	read  int
}

// Read implements io.Reader.
func (f *framed) Read(p []byte) (int, error) {
	if f.read >= f.limit {
		return 0, errTooMuch
	}
	n, err := f.conn.Read(p[:min(len(p), f.limit-f.read)])
	f.read += n
	if flooded := f.flow.take(n, time.Now()); flooded != nil {
		return 0, flooded
	}
	return n, err
}

func newSocket(conn *ws.Conn, flow *flow, limit int, redactor *redact.Redactor) *socketConn {
	f := &framed{conn: conn, flow: flow, limit: limit}
	return &socketConn{conn: conn, framed: f, decoder: json.NewDecoder(redactor.Reader(f))}
}

// Read implements sdk.Connection.
func (c *socketConn) Read(context.Context) (jsonrpc.Message, error) {
	c.framed.read = 0
	if flooded := c.framed.flow.take(messageWeight, time.Now()); flooded != nil {
		return nil, flooded
	}
	var raw json.RawMessage
	if err := c.decoder.Decode(&raw); err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(raw)
}

// Write implements sdk.Connection. It is safe for concurrent use: the library serialises messages.
func (c *socketConn) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(stuckAfter)); err != nil { // A server that accepts nothing is considered gone.
		return err
	}
	return ws.Message.Send(c.conn, string(text))
}

// Close implements sdk.Connection.
func (c *socketConn) Close() error { return c.conn.Close() }

// SessionID implements sdk.Connection; a WebSocket is its own session.
func (*socketConn) SessionID() string { return "" }
