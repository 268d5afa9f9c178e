package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	mapping "sluice/internal/hook"
	"sluice/internal/hook/signature"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Reason says why a request is refused.
type Reason string

// The reasons.
const (
	Unknown   Reason = "unknown"   // there is no such hook
	Unsigned  Reason = "unsigned"  // the sender can't be verified
	Malformed Reason = "malformed" // the payload can't be read
	BadType   Reason = "type"      // its media type is not supported
	Secret    Reason = "secret"    // the address contains a secret
	Conflict  Reason = "conflict"  // the id is known with another body
)

// Refusal is the error of a request that must not be sent again as it is.
type Refusal struct {
	Reason Reason
	Text   string
}

// Error implements error.
func (e *Refusal) Error() string { return e.Text }

// Arrival is a request as it came in.
type Arrival struct {
	Hook    string
	Headers http.Header
	Query   url.Values
	Body    []byte
}

// Accepted is a request that is stored.
type Accepted struct {
	ID       string
	Repeated bool // it was stored before
}

// Receive stores a request with its trigger. A refusal is a [*Refusal]; another error means that the sender should try again.
func (h *Hooks) Receive(ctx context.Context, in Arrival) (Accepted, error) {
	if h.Stopping() {
		return Accepted{}, request.ErrStopping
	}
	hook, ok := h.Find(in.Hook)
	if !ok {
		return Accepted{}, &Refusal{Unknown, "no hook has this name: check hooks in the gateway's configuration"}
	}
	if name := hook.SecretInQuery(in.Query); name != "" {
		return Accepted{}, &Refusal{Secret, fmt.Sprintf("the query parameter %q looks like a secret, and addresses get into logs: send it in a header, and replace the secret", cut(name))}
	}
	if err := hook.Verify(in.Headers, in.Body, h.Now()); err != nil {
		return Accepted{}, &Refusal{Unsigned, fmt.Sprintf("the request is not signed as the hook expects (%s): %s", hook.Scheme(), err)}
	}
	if h.Full != nil { // strangers are not told how full the disk is
		if err := h.Full(); err != nil {
			return Accepted{}, err
		}
	}
	r, err := hook.read(in)
	if err != nil {
		return Accepted{}, err
	}
	r.Received = h.Now()
	err = h.Lanes.Commit(ctx, h.stored(r, "", "hook.received"))
	if errors.Is(err, sessions.ErrDuplicate) {
		return h.known(ctx, r)
	}
	if err != nil {
		return Accepted{}, fmt.Errorf("store request to hook: %w", err)
	}
	return Accepted{ID: r.ID}, nil
}

// cut is the beginning of a text that a stranger has sent.
func cut(text string) string {
	const most = 60
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// read reads a request whose sender is verified.
func (h *Hook) read(in Arrival) (ledger.HookRequest, error) {
	kind, err := mapping.MediaType(in.Headers.Get("Content-Type"))
	if err != nil {
		return ledger.HookRequest{}, &Refusal{BadType, err.Error()}
	}
	if len(in.Headers) > valuesMax || len(in.Query) > valuesMax { // leaving some out would let a sender hide the request's id
		return ledger.HookRequest{}, &Refusal{Malformed, fmt.Sprintf("the request has too many headers or query parameters: want at most %d of each", valuesMax)}
	}
	r := ledger.HookRequest{
		Hook: h.Name, Digest: mapping.Digest(in.Body), Label: h.Label(), Payload: in.Body,
		HookDetail: ledger.HookDetail{Type: kind, Headers: kept(in.Headers), Query: first(in.Query)},
	}
	vars, err := mapping.Read(h.Name, contentOf(r))
	if err != nil {
		return r, &Refusal{Malformed, err.Error()}
	}
	if r.ID, err = h.ID(vars, r.Digest); err != nil {
		return r, &Refusal{Malformed, err.Error()}
	}
	r.Key, r.Once = Key(h.Name, r.ID), h.Once(in.Headers, r.Digest)
	return r, nil
}

// Key is the key of a request and of its trigger. The "#" is for the runs of a trigger.
func Key(name, id string) string {
	return "hook/" + name + "/" + strings.NewReplacer("%", "%25", "#", "%23").Replace(id)
}

func contentOf(r ledger.HookRequest) mapping.Request {
	return mapping.Request{Type: r.Type, Headers: r.Headers, Query: r.Query, Payload: r.Payload}
}

const (
	valuesMax = 100  // headers, and query parameters
	valueMax  = 1024 // bytes of a header's or parameter's value
)

// kept are the headers that filters, templates and people may see.
func kept(h http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range h {
		if len(values) > 0 && !signature.Proof(name) {
			all[strings.ToLower(name)] = strings.ToValidUTF8(values[0][:min(len(values[0]), valueMax)], "")
		}
	}
	return all
}

func first(q url.Values) map[string]string {
	all := map[string]string{}
	for name, values := range q {
		if len(values) > 0 {
			all[name] = strings.ToValidUTF8(values[0][:min(len(values[0]), valueMax)], "")
		}
	}
	return all
}

// stored is the change that stores a request and its trigger. An empty actor is the hook.
func (h *Hooks) stored(r ledger.HookRequest, actor, action string) ledger.Change {
	t := ledger.Trigger{
		Key: r.Key, Revision: 1, Source: ledger.TriggerHook, Subject: r.Hook, Partition: ledger.TriggerPartition(r.Key, h.Partitions),
		Status: ledger.TriggerWaiting, Due: r.Received, Label: r.Label, Created: r.Received,
	}
	change := ledger.Change{HookRequests: []ledger.HookRequest{r}, Triggers: []ledger.Trigger{t}}
	change.Audit = []sessions.AuditEntry{{At: r.Received, Actor: cmp.Or(actor, t.Actor()), Action: action, Object: r.Key, Label: r.Label, Detail: map[string]string{"digest": r.Digest, "replayOf": r.ReplayOf}}}
	return change
}

// known says what a request repeats.
func (h *Hooks) known(ctx context.Context, r ledger.HookRequest) (Accepted, error) {
	before, err := h.Store.HookRequest(ctx, r.Key)
	switch {
	case err == nil && before.Digest != r.Digest:
		return Accepted{}, &Refusal{Conflict, "a request with this id and another body was received before"}
	case err == nil:
		return Accepted{before.ID, true}, nil
	case !errors.Is(err, sessions.ErrNotFound):
		return Accepted{}, fmt.Errorf("read request to hook: %w", err)
	}
	if r.Once != "" {
		if before, err = h.Store.HookRequestOnce(ctx, r.Hook, r.Once); err == nil {
			return Accepted{before.ID, true}, nil
		}
		if !errors.Is(err, sessions.ErrNotFound) {
			return Accepted{}, fmt.Errorf("read request to hook: %w", err)
		}
	}
	return Accepted{r.ID, true}, nil // its trigger is still stored
}

// Replay stores a request again, as a new one with a trigger of its own.
func (h *Hooks) Replay(ctx context.Context, old ledger.HookRequest, actor string) (ledger.HookRequest, error) {
	hook, ok := h.Find(old.Hook)
	if !ok {
		return old, sessions.ErrNotFound
	}
	r := old
	r.ID, r.ReplayOf, r.Once = "replay-"+uuid.NewString(), old.ID, ""
	r.Key, r.Label, r.Received, r.Headers = Key(r.Hook, r.ID), old.Label.Join(hook.Label()), h.Now(), maps.Clone(old.Headers)
	if err := h.Lanes.Commit(ctx, h.stored(r, actor, "hook.replayed")); err != nil {
		return r, fmt.Errorf("store replayed request: %w", err)
	}
	return r, nil
}
