package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"sluice/internal/glob"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// pushMax is how many notifications a task may have.
	pushMax = 4
	// urlMax, tokenMax and schemesMax bound what a client may register: bytes, and names.
	urlMax, tokenMax, schemesMax = 2 << 10, 1 << 10, 4
	// defaultPush is the id of a notification that its client has not named.
	defaultPush = "default"
)

// PushSettings say where notifications of tasks may go.
type PushSettings struct {
	Hosts   []string // patterns with *; empty: nowhere
	Private bool     // also in private networks and on this machine, and without TLS
	Level   flow.Level
}

// PushStore reads notifications.
type PushStore interface {
	OpenTriggersOf(ctx context.Context, source ledger.TriggerSource, subjects []string) ([]ledger.Trigger, error)
	EndedTriggers(ctx context.Context, q ledger.EndedTriggers) ([]ledger.Trigger, error)
}

// Poster sends an HTTP request, and returns the status of the response. Its errors do not contain the address.
type Poster interface {
	Post(ctx context.Context, address string, header http.Header, body []byte) (status int, err error)
}

// Push is what notifications need. All fields are required.
type Push struct {
	Settings        func() PushSettings
	Store           PushStore
	Commit          func(ctx context.Context, change ledger.Change) error
	Tokens          *auth.Tokens
	Public, Private Poster // without and with private networks
	Partitions      int
	Now             func() time.Time
}

// offered reports whether clients may have notifications sent.
func (p *Push) offered() bool { return len(p.Settings().Hosts) > 0 }

// refused says why notifications may not go to an address; empty if they may.
func (p *Push) refused(address string) string {
	u, err := url.Parse(address)
	s := p.Settings()
	switch {
	case len(address) > urlMax:
		return fmt.Sprintf("url has more than %d bytes", urlMax)
	case err != nil || u.Host == "" || u.Opaque != "":
		return "url is not an address"
	case u.User != nil:
		return "url has a user name or password: use authentication"
	case u.Scheme != "https" && (u.Scheme != "http" || !s.Private):
		return "url does not begin with https"
	case !glob.Names(s.Hosts, strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))):
		return "the owner of the gateway does not allow the host of url (a2a.push.hosts)"
	}
	return ""
}

// checked is what a client registers, complete.
func (p *Push) checked(c a2a.PushConfig) (a2a.PushConfig, error) {
	if !p.offered() {
		return c, a2a.ErrPushNotificationNotSupported
	}
	if c.ID == "" {
		c.ID = defaultPush
	}
	why := p.refused(c.URL)
	switch {
	case why != "":
	case len(c.ID) > idMax:
		why = fmt.Sprintf("id has more than %d bytes", idMax)
	case len(c.Token) > tokenMax || strings.ContainsAny(c.Token, "\r\n\x00"):
		why = fmt.Sprintf("token: want one line of at most %d bytes", tokenMax)
	case c.Auth != nil && (len(c.Auth.Credentials) > tokenMax || strings.ContainsAny(c.Auth.Credentials, "\r\n\x00")):
		why = fmt.Sprintf("authentication.credentials: want one line of at most %d bytes", tokenMax)
	case c.Auth != nil && c.Auth.Credentials != "" && schemeOf(c.Auth) == "":
		why = "authentication.schemes: want Bearer or Basic"
	case c.Auth != nil && len(c.Auth.Schemes) > schemesMax:
		why = fmt.Sprintf("authentication.schemes: want at most %d", schemesMax)
	default:
		return c, nil
	}
	return c, fmt.Errorf("%w: pushNotificationConfig: %s", a2a.ErrInvalidParams, why)
}

// schemeOf is the first scheme of a client's that the gateway knows.
func schemeOf(a *a2a.PushAuthInfo) string {
	for _, scheme := range a.Schemes {
		for _, known := range []string{"Bearer", "Basic"} {
			if strings.EqualFold(scheme, known) {
				return known
			}
		}
	}
	return ""
}

// pushKey is the key of a notification's row.
func pushKey(run sessions.RunID, id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(ledger.TriggerPush) + "/" + string(run) + "/" + hex.EncodeToString(sum[:8])
}

// of reads the notifications of a task, in the order of their ids.
func (p *Push) of(ctx context.Context, run sessions.RunID) ([]ledger.Trigger, error) {
	open, err := p.Store.OpenTriggersOf(ctx, ledger.TriggerPush, []string{string(run)})
	if err != nil {
		return nil, err
	}
	ended, err := p.Store.EndedTriggers(ctx, ledger.EndedTriggers{Source: ledger.TriggerPush, Subject: string(run), Limit: 2 * pushMax})
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(append(open, ended...), func(t ledger.Trigger) bool { return t.Push == nil })
	slices.SortFunc(all, func(x, y ledger.Trigger) int { return strings.Compare(x.Push.ID, y.Push.ID) })
	return all, nil
}

// register stores a notification. The same one again has no effect; another one of the same id replaces it, and is sent again.
func (p *Push) register(ctx context.Context, agent string, run sessions.Run, c a2a.PushConfig) error {
	known, err := p.of(ctx, run.ID)
	if err != nil {
		return err
	}
	who, now := auth.CallerOf(ctx), p.Now()
	t := ledger.Trigger{
		Key: pushKey(run.ID, c.ID), Revision: 1, Source: ledger.TriggerPush, Subject: string(run.ID), Status: ledger.TriggerWaiting, Due: now,
		Label: run.Label, Created: now,
	}
	t.Partition = ledger.TriggerPartition(t.Key, p.Partitions)
	t.Push = &ledger.TriggerPushes{ID: c.ID, URL: c.URL, Token: c.Token, Agent: agent, Caller: who.Name, Level: who.Level.String()}
	if c.Auth != nil {
		t.Push.Scheme, t.Push.Credentials = schemeOf(c.Auth), c.Auth.Credentials
	}
	live := 0
	for _, k := range known {
		switch {
		case k.Key == t.Key && *k.Push == *t.Push && k.Status != ledger.TriggerWithdrawn && k.Status != ledger.TriggerUndelivered:
			return nil
		case k.Key == t.Key:
			t.Revision, t.Created = k.Revision+1, k.Created
		case k.Status != ledger.TriggerWithdrawn:
			live++
		}
	}
	if live >= pushMax {
		return fmt.Errorf("%w: the task has %d push notifications: delete one", a2a.ErrInvalidParams, pushMax)
	}
	return p.Commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}})
}

// config is a notification as clients read it: without its secrets.
func config(task a2a.TaskID, t ledger.Trigger) *a2a.TaskPushConfig {
	c := a2a.PushConfig{ID: t.Push.ID, URL: t.Push.URL}
	if t.Push.Scheme != "" {
		c.Auth = &a2a.PushAuthInfo{Schemes: []string{t.Push.Scheme}}
	}
	return &a2a.TaskPushConfig{TaskID: task, Config: c}
}

// pushes reads the notifications of a task that the caller has registered.
func (h *handler) pushes(ctx context.Context, task a2a.TaskID) ([]ledger.Trigger, error) {
	if !h.api.Push.offered() {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	run, err := h.run(ctx, task)
	if err != nil {
		return nil, err
	}
	all, err := h.api.Push.of(ctx, run.ID)
	who := auth.CallerOf(ctx).Name
	return slices.DeleteFunc(all, func(t ledger.Trigger) bool { return t.Push.Caller != who || t.Status == ledger.TriggerWithdrawn }), err
}

// OnSetTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) OnSetTaskPushConfig(ctx context.Context, params *a2a.TaskPushConfig) (c *a2a.TaskPushConfig, err error) {
	defer h.survive(&err)
	wanted, err := h.api.Push.checked(params.Config)
	if err != nil {
		return nil, h.problem(err)
	}
	run, err := h.run(ctx, params.TaskID)
	if err == nil {
		err = h.api.Push.register(ctx, h.agent.ID, run, wanted)
	}
	if err != nil {
		return nil, h.problem(err)
	}
	return &a2a.TaskPushConfig{TaskID: params.TaskID, Config: a2a.PushConfig{ID: wanted.ID, URL: wanted.URL}}, nil
}

// OnGetTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) OnGetTaskPushConfig(ctx context.Context, params *a2a.GetTaskPushConfigParams) (c *a2a.TaskPushConfig, err error) {
	defer h.survive(&err)
	all, err := h.pushes(ctx, params.TaskID)
	if err != nil {
		return nil, h.problem(err)
	}
	for _, t := range all {
		if params.ConfigID == "" || t.Push.ID == params.ConfigID {
			return config(params.TaskID, t), nil
		}
	}
	return nil, fmt.Errorf("%w: the task has no such push notification", a2a.ErrInvalidParams)
}

// OnListTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) OnListTaskPushConfig(ctx context.Context, params *a2a.ListTaskPushConfigParams) (all []*a2a.TaskPushConfig, err error) {
	defer h.survive(&err)
	found, err := h.pushes(ctx, params.TaskID)
	if err != nil {
		return nil, h.problem(err)
	}
	all = []*a2a.TaskPushConfig{}
	for _, t := range found {
		all = append(all, config(params.TaskID, t))
	}
	return all, nil
}

// OnDeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) OnDeleteTaskPushConfig(ctx context.Context, params *a2a.DeleteTaskPushConfigParams) (err error) {
	defer h.survive(&err)
	all, err := h.pushes(ctx, params.TaskID)
	if err != nil {
		return h.problem(err)
	}
	for _, t := range all {
		if t.Push.ID != params.ConfigID {
			continue
		}
		t.Revision++
		t.Status, t.Why, t.Epoch = ledger.TriggerWithdrawn, "its client has deleted it", 0
		if t.Ended.IsZero() {
			t.Ended = h.api.Push.Now()
		}
		if err := h.api.Push.Commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}}); err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return h.problem(err)
		}
	}
	return nil
}
