package protocol

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// linkBuffer is how many messages of the MCP protocol may wait to be read.
const linkBuffer = 64

// Link carries the MCP protocol in frames of a connection between a node and the gateway. It is used for one session.
type Link struct {
	send   func(ctx context.Context, f Frame) error
	in     chan json.RawMessage
	closed chan struct{}
	once   sync.Once
}

var (
	_ sdk.Transport  = (*Link)(nil)
	_ sdk.Connection = (*Link)(nil)
)

// NewLink makes a link that writes with send.
func NewLink(send func(ctx context.Context, f Frame) error) *Link {
	return &Link{send: send, in: make(chan json.RawMessage, linkBuffer), closed: make(chan struct{})}
}

// Take hands over what the other side has sent. It waits while too much is unread.
func (l *Link) Take(ctx context.Context, body json.RawMessage) {
	select {
	case l.in <- body:
	case <-l.closed:
	case <-ctx.Done():
	}
}

// Connect implements [sdk.Transport].
func (l *Link) Connect(context.Context) (sdk.Connection, error) { return l, nil }

// Read implements [sdk.Connection].
func (l *Link) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case body := <-l.in:
		return jsonrpc.DecodeMessage(body)
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [sdk.Connection].
func (l *Link) Write(ctx context.Context, m jsonrpc.Message) error {
	select {
	case <-l.closed:
		return io.ErrClosedPipe
	default:
	}
	body, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return l.send(ctx, Frame{Kind: MCP, Body: body})
}

// Close implements [sdk.Connection].
func (l *Link) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// SessionID implements [sdk.Connection].
func (*Link) SessionID() string { return "" }
