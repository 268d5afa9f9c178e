// Package peer reaches remote agents that speak A2A (Agent2Agent 0.3, JSON-RPC over HTTP).
//
// A turn becomes a message of the context that has the session's id. The remote agent keeps its own history, so it gets only what
// was said since its last reply. It has no tools of the gateway.
package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"sluice/agentkit"
	"sluice/internal/program"
)

const (
	cardPath = "/.well-known/agent-card.json"
	// cardMax, answerMax and dialTime bound what a remote agent may send and how long it may take to connect.
	cardMax, answerMax = 256 << 10, 8 << 20
	dialTime           = 10 * time.Second
	// cardTime is how long an agent card is used before it is read again.
	cardTime = 5 * time.Minute
	// aliveEvery is how often a waiting connection counts as a sign of life.
	aliveEvery = agentkit.Silence / 4
	// looksMax and lookAgain say how often a task is looked at whose stream broke.
	looksMax, lookAgain = 5, time.Second
	cancelTime          = 3 * time.Second
)

// Peers reaches remote agents. It is safe for concurrent use.
type Peers struct {
	now       func() time.Time
	transport *http.Transport

	mu    sync.Mutex
	cards map[string]card // by address
}

type card struct {
	*a2a.AgentCard
	read time.Time
}

// New creates Peers.
func New(now func() time.Time) *Peers {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	t.ResponseHeaderTimeout = 0                          // a reply may take as long as its run
	t.TLSHandshakeTimeout = dialTime
	return &Peers{now: now, transport: t, cards: map[string]card{}}
}

// Close ends the connections that are idle.
func (p *Peers) Close() { p.transport.CloseIdleConnections() }

// For returns the way to the agent at an address: that of its card, or of its host. auth is the header Authorization of requests;
// it may be empty.
func (p *Peers) For(address, auth string) *Peer { return &Peer{peers: p, address: address, auth: auth} }

// Peer is the way to one remote agent.
type Peer struct {
	peers         *Peers
	address, auth string
}

var _ program.Carrier = (*Peer)(nil)

// Begin implements [program.Carrier].
func (p *Peer) Begin(ctx context.Context, run program.Run) (program.Line, error) {
	base, err := url.Parse(p.address)
	if err != nil {
		return nil, errors.New("the address of the remote agent can't be read")
	}
	at, path := p.address, cardPath
	if strings.HasSuffix(base.Path, ".json") { // the card itself
		at, path = base.Scheme+"://"+base.Host, base.Path
	}
	c, err := p.peers.card(ctx, at, path, p.auth)
	if err != nil {
		return nil, err
	}
	endpoint, err := endpointOf(c, base)
	if err != nil {
		return nil, err
	}
	client, err := a2aclient.NewFromEndpoints(ctx, []a2a.AgentInterface{{Transport: a2a.TransportProtocolJSONRPC, URL: endpoint}},
		a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(p.peers.client(p.auth, answerMax)))
	if err != nil {
		return nil, fmt.Errorf("connect to the remote agent: %w", err)
	}
	l := &line{client: client, run: run, streams: c.Capabilities.Streaming, frames: make(chan []byte)}
	l.life, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l, nil
}

// client makes an HTTP client that follows no redirects: they would take the authorization elsewhere.
func (p *Peers) client(auth string, most int64) *http.Client {
	return &http.Client{
		Transport: bounded{p.transport, auth, most},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects: set url to where it redirects")
		},
	}
}

// bounded adds the authorization to requests, and bounds responses.
type bounded struct {
	http.RoundTripper
	auth string
	most int64
}

// statusError is a refused request.
type statusError struct{ code int }

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("it answers %d %s", e.code, http.StatusText(e.code))
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.auth != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", b.auth)
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, errors.Join(&statusError{resp.StatusCode}, resp.Body.Close())
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, b.most)
	return resp, nil
}

// tooLong says that a response was too long, if that is why reading it failed.
func tooLong(err error) error {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("it sent more than %d bytes", big.Limit)
	}
	return nil
}

// card reads the card of a remote agent, or returns the one that was read a short time ago.
func (p *Peers) card(ctx context.Context, base, path, auth string) (*a2a.AgentCard, error) {
	key := base + path
	p.mu.Lock()
	known, ok := p.cards[key]
	p.mu.Unlock()
	if ok && p.now().Sub(known.read) < cardTime {
		return known.AgentCard, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := agentcard.NewResolver(p.client(auth, cardMax)).Resolve(ctx, base, agentcard.WithPath(path))
	if err := cmp.Or(tooLong(err), err); err != nil {
		return nil, fmt.Errorf("%w: read agent card: %w", program.ErrAbsent, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards[key] = card{c, p.now()}
	return c, nil
}

// endpointOf is where the agent takes requests. It must be on the host that the configuration names, because the
// authorization goes there.
func endpointOf(c *a2a.AgentCard, base *url.URL) (string, error) {
	var offered []string
	if c.PreferredTransport == "" || c.PreferredTransport == a2a.TransportProtocolJSONRPC {
		offered = append(offered, c.URL)
	}
	for _, i := range c.AdditionalInterfaces {
		if i.Transport == a2a.TransportProtocolJSONRPC {
			offered = append(offered, i.URL)
		}
	}
	for _, text := range offered {
		if u, err := url.Parse(text); err == nil && u.Scheme == base.Scheme && u.Host == base.Host {
			return text, nil
		}
	}
	if len(offered) > 0 {
		return "", fmt.Errorf("the agent card names another host (%q): set url to that host", offered[0])
	}
	return "", errors.New("the remote agent offers no JSON-RPC interface")
}

// line is the way to a remote agent during a run. Each turn is worked by a goroutine, which Close waits for.
type line struct {
	client  *a2aclient.Client
	run     program.Run
	streams bool
	frames  chan []byte
	life    context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	task    a2a.TaskID // of the turn; set by its goroutine, read after it
	over    bool       // the task has ended
}

// Send implements [program.Line].
func (l *line) Send(_ context.Context, turn []byte, _ string) error {
	var e agentkit.Event
	if err := json.Unmarshal(turn, &e); err != nil {
		return fmt.Errorf("read turn: %w", err)
	}
	text, n := said(e.Data.Messages)
	m := &a2a.Message{
		// The same each time the turn is asked for, so that the remote agent can know it again.
		ID: fmt.Sprintf("%s-%d", l.run.ID, n), ContextID: string(l.run.Session), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.TextPart{Text: text}},
	}
	l.work.Wait() // the turn before has sent its last frame
	l.work.Go(func() { l.converse(e.ID, &a2a.MessageSendParams{Message: m}) })
	return nil
}

// said is what was said since the agent's last reply, and how many replies there were.
func said(messages []agentkit.Message) (text string, replies int) {
	var texts []string
	for _, m := range messages {
		if m.Role == agentkit.RoleAssistant {
			texts, replies = nil, replies+1
			continue
		}
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "\n\n"), replies
}

// Next implements [program.Line]. A connection that is open counts as a sign of life.
func (l *line) Next(ctx context.Context) ([]byte, error) {
	select {
	case f := <-l.frames:
		return f, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements [program.Line].
func (l *line) Close(turn string) {
	l.cancel()
	l.work.Wait()
	if turn != "" && l.task != "" && !l.over {
		ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
		defer cancel()
		_, _ = l.client.CancelTask(ctx, &a2a.TaskIDParams{ID: l.task}) // its answer is no longer wanted, whatever becomes of it
	}
	_ = l.client.Destroy() // has nothing to close
}
