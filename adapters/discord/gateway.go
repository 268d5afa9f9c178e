package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"sluice/adapters"
	"sluice/internal/pause"
)

// The gateway's operations.
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opResume       = 6
	opReconnect    = 7
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11
)

// intents are the kinds of events that are asked for. Message content is the only privileged one.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentGuildMessageReactions |
	discordgo.IntentDirectMessages | discordgo.IntentDirectMessageReactions | discordgo.IntentMessageContent

// maxFrame bounds one payload: a guild of thousands of channels and roles is a few megabytes.
const maxFrame = 64 << 20

// maxInterval bounds the time between two heartbeats. Discord's own value is 41 seconds.
const maxInterval = 5 * time.Minute

// writeTime bounds one write; payloads to Discord are below 4 kB.
const writeTime = 10 * time.Second

// closeResumable is a close code after which the session can be resumed. 1000 and 1001 would end it.
const closeResumable = 4000

// The reasons of the end of a connection.
var (
	errReconnect = errors.New("discord asked to connect again")
	errInvalid   = errors.New("discord no longer knows the session")
	errDeaf      = errors.New("connected, but no heartbeat was answered")
	errNoGateway = errors.New("discord did not return the address of its gateway")
)

// connection is one websocket to the gateway. Its goroutines: the reader (the caller of run) and the heartbeat.
type connection struct {
	ws       *websocket.Conn
	interval time.Duration

	writing sync.Mutex
	acked   atomic.Bool
	stalled atomic.Bool // the reader waits for a full lane, so silence is not a failure
}

// dial opens a websocket and reads Hello.
func (s *shard) dial(ctx context.Context, address string) (*connection, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read gateway address: %w", err)
	}
	u.RawQuery = url.Values{"v": {"10"}, "encoding": {"json"}}.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: s.cfg.pace.handshake}
	ws, resp, err := dialer.DialContext(ctx, u.String(), http.Header{"User-Agent": {userAgent}})
	if resp != nil && resp.Body != nil {
		defer func() { _ = resp.Body.Close() }() // the library has read the response
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	c := &connection{ws: ws}
	if err := c.hello(ctx, s.cfg.pace.handshake); err != nil {
		_ = ws.Close() // there is no session yet
		return nil, err
	}
	return c, nil
}

func (c *connection) hello(ctx context.Context, within time.Duration) error {
	defer context.AfterFunc(ctx, func() { _ = c.ws.Close() })()
	f, err := c.read(within)
	if err != nil {
		return fmt.Errorf("wait for hello: %w", err)
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	if f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Interval <= 0 {
		return fmt.Errorf("wait for hello: got operation %d instead", f.Op)
	}
	c.interval = min(adapters.Wait(float64(hello.Interval), time.Millisecond), maxInterval)
	c.acked.Store(true)
	return nil
}

// read returns the next payload. With within 0 it waits without a limit, and the heartbeat detects a dead connection. A
// payload that is not JSON has operation -1.
func (c *connection) read(within time.Duration) (frame, error) {
	deadline := time.Time{}
	if within > 0 {
		deadline = time.Now().Add(within)
	}
	if err := c.ws.SetReadDeadline(deadline); err != nil {
		return frame{}, err
	}
	_, raw, err := c.ws.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	var f frame
	unread, err := adapters.Decode(raw, &f)
	if err != nil || unread == "op" {
		return frame{Op: -1, Data: raw}, nil //nolint:nilerr // its reader says so
	}
	return f, nil
}

func (c *connection) write(op int, data any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	return c.ws.WriteJSON(struct {
		Op   int `json:"op"`
		Data any `json:"d"`
	}{op, data})
}

// heartbeat sends a heartbeat with the last received sequence.
func (c *connection) heartbeat(seq int64) error {
	if seq == 0 {
		return c.write(opHeartbeat, nil)
	}
	return c.write(opHeartbeat, seq)
}

// sendHeartbeats sends heartbeats until ctx ends. It returns errDeaf if the last one was not answered.
func (c *connection) sendHeartbeats(ctx context.Context, seq func() int64) error {
	wait := time.Duration(rand.Int64N(int64(c.interval))) // so that many connections do not send their heartbeats at the same time
	for pause.Wait(ctx, wait) == nil {
		if !c.acked.Load() && !c.stalled.Load() {
			return errDeaf
		}
		c.acked.Store(false)
		if err := c.heartbeat(seq()); err != nil {
			return fmt.Errorf("send heartbeat: %w", err)
		}
		wait = c.interval
	}
	return nil
}

// close sends the close code and closes the connection. It does not wait for a response.
func (c *connection) close(code int) {
	deadline := time.Now().Add(time.Second)
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), deadline) // Discord also notices without it
	_ = c.ws.Close()                                                                                // the connection is given up anyway
}

// identify returns the payload that begins a session.
func (s *shard) identify() any {
	return map[string]any{
		"token": string(s.cfg.Token), "intents": intents, "shard": [2]int{s.id, s.of}, "large_threshold": 50,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "sluice", "device": "sluice"},
	}
}

func (s *shard) resume(p *position) any {
	return map[string]any{"token": string(s.cfg.Token), "session_id": p.session, "seq": p.seq()}
}
