// Package template is a whole adapter, for an invented platform with direct
// chats only, to begin a new one with: see docs/channels/writing-an-adapter.md.
//
//	POST /events    {"after":7,"wait":20}          → {"me":{…},"events":[{"id":8,"kind":"message","body":{…}}]}
//	POST /messages  {"chat":…,"text":…,"key":…}    → {"id":"12","at":1700000000}
//
// /events waits until there are some and forgets those that are not after 7. The bot's own words do not come. The same
// key again is the same message. An error is a status: 401 token, 429 with Retry-After in seconds, another 4xx refused.
package template

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"sluice/adapters"
	"sluice/internal/markdown"
	"sluice/sessions"
)

// Config is the configuration of one account; all fields are required.
type Config struct {
	Account string        // name in the configuration
	Base    string        // the platform's address
	Token   string        // never in errors, logs or State
	Wait    time.Duration // how long a request for events waits, in whole seconds; after twice that time a call counts as dead
	Now     func() time.Time
	Log     *slog.Logger
}

// Adapter is one account. It has no goroutine of its own: Run works on its caller's.
type Adapter struct {
	cfg   Config
	http  http.Client
	state *adapters.Tracker
}

var (
	_ adapters.Adapter  = (*Adapter)(nil)
	_ adapters.Splitter = (*Adapter)(nil)
	_ adapters.Stater   = (*Adapter)(nil)
)

// New creates the adapter of one account. It makes no calls.
func New(cfg Config) *Adapter {
	a := &Adapter{cfg: cfg, http: http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	a.state = adapters.NewTracker(a.Channel(), cfg.Account, cfg.Now)
	return a
}

// Channel is "template".
func (*Adapter) Channel() string { return "template" }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State returns the state of the account.
func (a *Adapter) State() adapters.State { return a.state.State() }

// Run receives until ctx ends. Only a rejected token ends it earlier; all other errors are retried.
func (a *Adapter) Run(ctx context.Context, in adapters.Acceptor) error {
	a.state.Set(adapters.Connecting, "")
	for after := int64(0); ; {
		err := a.step(ctx, in, &after)
		switch f := adapters.AsFailure(err); {
		case ctx.Err() != nil:
			a.state.Set(adapters.Stopped, "")
			return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
		case err == nil:
		case f.Kind == adapters.Auth:
			a.state.Set(adapters.Failed, "the token is not valid: put the current one into the configuration")
			return f
		default:
			a.state.Set(adapters.Retrying, f.Error())
			a.http.CloseIdleConnections() // one of them may be deaf
			pause, cancel := context.WithTimeout(ctx, max(time.Second, f.RetryAfter))
			<-pause.Done()
			cancel()
		}
	}
}

// message is a received message or, with fewer fields, the answer to a sent one.
type message struct {
	ID   sessions.PlatformMessageID
	At   int64 // Unix seconds
	Chat sessions.ConversationID
	From sessions.Peer
	Text string
}

// step requests events once. The next request confirms those up to after, so after only includes events that the
// acceptor has accepted.
func (a *Adapter) step(ctx context.Context, in adapters.Acceptor, after *int64) error {
	var answer struct {
		Me     sessions.Peer
		Events []struct {
			ID   int64
			Kind string
			Body json.RawMessage // for kind message: a message
		}
	}
	if err := a.call(ctx, "/events", map[string]int64{"after": *after, "wait": int64(a.cfg.Wait.Seconds())}, &answer); err != nil {
		return err
	}
	a.state.Set(adapters.Connected, "")
	a.state.Identify(answer.Me)
	a.state.Heard()
	if len(answer.Events) > 0 {
		a.state.Event()
	}
	for _, e := range answer.Events {
		var m message
		if err := json.Unmarshal(e.Body, &m); e.Kind != "message" || err != nil || m.Chat == "" {
			a.cfg.Log.Warn("event skipped", "event", e.ID, "kind", e.Kind, "error", err) // otherwise it would be repeated forever
		} else if err := in.Accept(ctx, a.inbound(m)); err != nil {
			return fmt.Errorf("accept event %d: %w", e.ID, err)
		}
		*after = e.ID
	}
	return nil
}

func (a *Adapter) inbound(m message) adapters.Inbound {
	to := sessions.Route{Channel: a.Channel(), Account: a.cfg.Account, ChatType: sessions.Direct, Conversation: m.Chat, ReplyTo: m.ID}
	return adapters.Inbound{
		Event: fmt.Sprintf("%s/%s", m.Chat, m.ID), Route: to, Sender: m.From, Text: m.Text, Mentioned: true, MessageID: m.ID, SentAt: time.Unix(m.At, 0),
	}
}

// Split cuts a text into chunks that each fit one message: 2,000 characters.
func (*Adapter) Split(text string) []string { return markdown.Split(text, 2000) }

// Send posts one message. With the same key, a retry is the same message.
func (a *Adapter) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	text := out.Text
	if !out.Plain {
		text = markdown.Plain(text) // the platform has no markup
	}
	body := map[string]string{"chat": string(out.Route.Conversation), "text": text, "key": fmt.Sprintf("%s/%d", out.DeliveryID, out.Part)}
	var m message
	if err := a.call(ctx, "/messages", body, &m); err != nil {
		return adapters.Receipt{}, err
	}
	return adapters.NewReceipt(m.ID, time.Unix(m.At, 0), time.Now()), nil
}

// call makes one request. Its error is a *Failure; it is Certain only if the platform certainly did nothing.
func (a *Adapter) call(ctx context.Context, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*a.cfg.Wait)
	defer cancel()
	payload, _ := json.Marshal(body) // texts and numbers can always be encoded
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.Base+path, bytes.NewReader(payload))
	if err != nil {
		return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: err}
	}
	r.Header.Set("Authorization", "Bearer "+a.cfg.Token)
	resp, err := a.http.Do(r)
	if err == nil {
		defer func() { _ = resp.Body.Close() }() // it was only read
		if resp.StatusCode != http.StatusOK {
			return refusal(path, resp)
		}
		err = json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(result)
	}
	if err != nil {
		return &adapters.Failure{Kind: adapters.Transient, Err: err}
	}
	return nil
}

func refusal(path string, resp *http.Response) *adapters.Failure {
	f := &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: fmt.Errorf("%s: the platform answered %s", path, resp.Status)}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		f.Kind = adapters.Auth
	case code == http.StatusTooManyRequests:
		f.Kind = adapters.RateLimited
		seconds, _ := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // 0 if it is missing
		f.RetryAfter = adapters.Wait(seconds, time.Second)
	case code >= http.StatusInternalServerError:
		f.Kind, f.Certain = adapters.Transient, false // a proxy may have lost the answer
	}
	return f
}
