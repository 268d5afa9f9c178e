// Package nodes decides which programs and devices may dial in, and at which level.
package nodes

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Channel is the channel of nodes, and Account its only account. The conversation is the node's id.
const (
	Channel = "node"
	Account = "default"
)

const (
	// codeLife is how long a code can be approved.
	codeLife = time.Hour
	// pendingMax is how many programs may wait for approval at once.
	pendingMax = 16
	// askedMax is for how many of them the owners are asked in a chat: anybody who reaches the gateway can ask.
	askedMax = 3
	// approvedMax is how many nodes there may be.
	approvedMax = 1000
	// levelAge is how long a level that was read is used. A revoked node loses what other replicas send within this time.
	levelAge  = 2 * time.Second
	lookup    = 5 * time.Second
	codeLen   = 8
	tokenHash = 2 * sha256.Size
	nameMax   = 32
	suffixLen = 4 // bytes
)

// codeAlphabet leaves out what people confuse: 0 O 1 I.
const codeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// Store is what the registry needs of the store.
type Store interface {
	Commit(ctx context.Context, change ledger.Change) error
	Node(ctx context.Context, id string) (ledger.Node, error)
	NodeByToken(ctx context.Context, hash string) (ledger.Node, error)
	ListNodes(ctx context.Context, q ledger.NodeQuery) ([]ledger.Node, error)
}

// Errors of the registry.
var (
	// ErrDisabled: nodes.pairing is disabled.
	ErrDisabled = &request.Error{Field: "pairing", Text: "this gateway pairs no nodes: set nodes.pairing to approval"}
	// ErrFull: too many programs wait for approval.
	ErrFull = &request.Error{Field: "pairing", Text: fmt.Sprintf("%d programs wait for approval already: approve them with `sluice nodes approve CODE`, or try again in an hour", pendingMax)}
	// ErrCode: no pending node has the code.
	ErrCode = &request.Error{Field: "code", Text: "no node waits with this code; it may have expired: see `sluice nodes list`"}
)

// Registry knows the nodes. It is safe for concurrent use.
type Registry struct {
	store   Store
	now     func() time.Time
	pairing bool
	commit  func(ctx context.Context, change ledger.Change) error
	ask     func(ctx context.Context, n ledger.Node) []ledger.Delivery // nil: no owner is asked in a chat

	asking sync.Mutex // held while a request is counted and stored

	mu     sync.Mutex
	levels map[string]known
}

// known is a level that was read.
type known struct {
	level flow.Level
	until time.Time
}

// New makes a registry; without pairing it accepts no new nodes.
func New(store Store, now func() time.Time, pairing bool) *Registry {
	return &Registry{store: store, now: now, pairing: pairing, commit: store.Commit, levels: map[string]known{}}
}

// AskIn makes the registry ask the owners in their chats: ask writes the questions, and commit stores them. It must be called
// before the first request.
func (r *Registry) AskIn(ask func(ctx context.Context, n ledger.Node) []ledger.Delivery, commit func(ctx context.Context, change ledger.Change) error) {
	r.ask, r.commit = ask, commit
}

// Hash is what is stored of a token.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Asked is a program's request to become a node.
type Asked struct {
	Name     string
	Platform string
	Token    string // SHA-256 of its token, in hexadecimal
}

// Ask stores a request, and returns it with its code and the node's id.
func (r *Registry) Ask(ctx context.Context, a Asked) (ledger.Node, error) {
	switch {
	case !r.pairing:
		return ledger.Node{}, ErrDisabled
	case !validName(a.Name):
		return ledger.Node{}, &request.Error{Field: "name", Text: fmt.Sprintf("the name of a node has 1 to %d characters of a-z 0-9 -, and begins and ends with a letter or digit", nameMax)}
	case !validName(strings.ToLower(a.Platform)):
		return ledger.Node{}, &request.Error{Field: "platform", Text: "the platform is one word, such as linux"}
	case len(a.Token) != tokenHash || strings.Trim(a.Token, "0123456789abcdef") != "":
		return ledger.Node{}, &request.Error{Field: "tokenHash", Text: "tokenHash is the SHA-256 of the node's token, as 64 hexadecimal digits"}
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	now := r.now()
	waiting, err := r.pending(ctx, now)
	if err != nil {
		return ledger.Node{}, err
	}
	if len(waiting) >= pendingMax {
		return ledger.Node{}, ErrFull
	}
	n := ledger.Node{
		ID: a.Name + "-" + suffix(), Revision: 1, Status: ledger.NodePending, Code: newCode(), Token: a.Token, Label: flow.NewLabel(flow.Public, flow.Untrusted),
		NodeDetail: ledger.NodeDetail{Name: a.Name, Platform: a.Platform}, Created: now, Expires: now.Add(codeLife), Changed: now,
	}
	change := ledger.Change{Nodes: []ledger.Node{n}, Change: entry(n, now, "nobody", "node.request")}
	if r.ask != nil && len(waiting) < askedMax {
		change.Deliver = r.ask(ctx, n)
	}
	err = r.commit(ctx, change)
	if errors.Is(err, sessions.ErrDuplicate) {
		return r.again(ctx, a, now)
	}
	if err != nil {
		return ledger.Node{}, fmt.Errorf("store node: %w", err)
	}
	return n, nil
}

// again answers a request that was stored before: its answer was lost.
func (r *Registry) again(ctx context.Context, a Asked, now time.Time) (ledger.Node, error) {
	old, err := r.store.NodeByToken(ctx, a.Token)
	if err != nil {
		return ledger.Node{}, fmt.Errorf("read node: %w", err)
	}
	if old.Status != ledger.NodePending || !old.Expires.After(now) || old.Name != a.Name {
		return ledger.Node{}, &request.Error{Field: "tokenHash", Text: "this token was used before: pair again with a new one"}
	}
	return old, nil
}

// pending reads the requests that can still be approved.
func (r *Registry) pending(ctx context.Context, now time.Time) ([]ledger.Node, error) {
	all, err := r.store.ListNodes(ctx, ledger.NodeQuery{Status: ledger.NodePending, MaxLevel: flow.Restricted})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return slices.DeleteFunc(all, func(n ledger.Node) bool { return !n.Expires.After(now) }), nil
}

// waitingFor finds the program that shows a code.
func (r *Registry) waitingFor(ctx context.Context, code string) (ledger.Node, error) {
	waiting, err := r.pending(ctx, r.now())
	if err != nil {
		return ledger.Node{}, err
	}
	i := slices.IndexFunc(waiting, func(n ledger.Node) bool { return n.Code != "" && n.Code == strings.ToUpper(code) })
	if i < 0 {
		return ledger.Node{}, ErrCode
	}
	return waiting[i], nil
}

// Approval is the change that makes the program that shows a code a node with a level. The caller stores it.
func (r *Registry) Approval(ctx context.Context, code string, level flow.Level, actor string) (ledger.Node, ledger.Change, error) {
	n, err := r.waitingFor(ctx, code)
	if err != nil {
		return ledger.Node{}, ledger.Change{}, err
	}
	approved, err := r.store.ListNodes(ctx, ledger.NodeQuery{Status: ledger.NodeApproved, MaxLevel: flow.Restricted, Limit: approvedMax})
	if err != nil {
		return ledger.Node{}, ledger.Change{}, fmt.Errorf("list nodes: %w", err)
	}
	if len(approved) >= approvedMax {
		return ledger.Node{}, ledger.Change{}, &request.Error{Field: "code", Text: fmt.Sprintf("there are %d nodes already: revoke one first", approvedMax)}
	}
	n.Status, n.Label = ledger.NodeApproved, flow.NewLabel(level, flow.Untrusted)
	n, change := r.decided(n, actor, "node.approve")
	return n, change, nil
}

// Denial is the change that refuses the program that shows a code. The caller stores it.
func (r *Registry) Denial(ctx context.Context, code, actor string) (ledger.Node, ledger.Change, error) {
	n, err := r.waitingFor(ctx, code)
	if err != nil {
		return ledger.Node{}, ledger.Change{}, err
	}
	n.Status = ledger.NodeRevoked
	n, change := r.decided(n, actor, "node.deny")
	return n, change, nil
}

// Revocation is the change that revokes a node, or refuses a waiting program; empty if it has no access. The caller stores it.
func (r *Registry) Revocation(ctx context.Context, id, actor string) (ledger.Node, ledger.Change, error) {
	n, err := r.store.Node(ctx, id)
	if err != nil {
		return ledger.Node{}, ledger.Change{}, fmt.Errorf("read node: %w", err)
	}
	if n.Status == ledger.NodeRevoked {
		return n, ledger.Change{}, nil
	}
	n.Status = ledger.NodeRevoked
	n, change := r.decided(n, actor, "node.revoke")
	return n, change, nil
}

// Leveling is the change that gives a node another level; empty if it has that level. The caller stores it. The node's
// connection ends, so that its tools and what it says get the new level when it connects again.
func (r *Registry) Leveling(ctx context.Context, id string, level flow.Level, actor string) (ledger.Node, ledger.Change, error) {
	n, err := r.store.Node(ctx, id)
	switch {
	case err != nil:
		return ledger.Node{}, ledger.Change{}, fmt.Errorf("read node: %w", err)
	case n.Status != ledger.NodeApproved:
		return ledger.Node{}, ledger.Change{}, fmt.Errorf("read node: %w", sessions.ErrNotFound)
	case n.Label.Level() == level:
		return n, ledger.Change{}, nil
	}
	was, label := n.Label.Level(), n.Label
	n.Label = flow.NewLabel(level, flow.Untrusted)
	n, change := r.decided(n, actor, "node.level")
	change.Audit[0].Label = label.Join(n.Label)
	change.Audit[0].Detail = map[string]string{"from": was.String(), "to": level.String()}
	return n, change, nil
}

// decided is the change that stores a decision about a node.
func (r *Registry) decided(n ledger.Node, actor, action string) (ledger.Node, ledger.Change) {
	now := r.now()
	n.Revision++
	n.Code, n.Actor, n.Changed = "", actor, now
	return n, ledger.Change{Nodes: []ledger.Node{n}, Change: entry(n, now, actor, action)}
}

// Approve makes the program that shows a code a node with a level.
func (r *Registry) Approve(ctx context.Context, code string, level flow.Level, actor string) (ledger.Node, error) {
	return r.storing(ctx)(r.Approval(ctx, code, level, actor))
}

// Revoke revokes a node, or refuses a waiting program.
func (r *Registry) Revoke(ctx context.Context, id, actor string) (ledger.Node, error) {
	return r.storing(ctx)(r.Revocation(ctx, id, actor))
}

// SetLevel gives a node another level.
func (r *Registry) SetLevel(ctx context.Context, id string, level flow.Level, actor string) (ledger.Node, error) {
	return r.storing(ctx)(r.Leveling(ctx, id, level, actor))
}

// storing stores a decision.
func (r *Registry) storing(ctx context.Context) func(n ledger.Node, change ledger.Change, err error) (ledger.Node, error) {
	return func(n ledger.Node, change ledger.Change, err error) (ledger.Node, error) {
		if err != nil || len(change.Nodes) == 0 {
			return n, err
		}
		if err := r.commit(ctx, change); err != nil {
			return ledger.Node{}, fmt.Errorf("store node: %w", err)
		}
		r.Changed(change.Nodes)
		return n, nil
	}
}

// Changed forgets what was read of nodes that have changed.
func (r *Registry) Changed(all []ledger.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range all {
		delete(r.levels, n.ID)
	}
}

// List reads nodes.
func (r *Registry) List(ctx context.Context, q ledger.NodeQuery) ([]ledger.Node, error) {
	return r.store.ListNodes(ctx, q)
}

func entry(n ledger.Node, at time.Time, actor, action string) sessions.Change {
	return sessions.Change{Audit: []sessions.AuditEntry{{At: at, Actor: actor, Action: action, Object: Channel + ":" + n.ID, Label: n.Label}}}
}

// Identify returns the node of a token, or [sessions.ErrNotFound].
func (r *Registry) Identify(ctx context.Context, token string) (ledger.Node, error) {
	n, err := r.store.NodeByToken(ctx, Hash(token))
	if err != nil {
		return n, fmt.Errorf("read node: %w", err)
	}
	if n.Status == ledger.NodeApproved {
		r.keep(n)
	}
	return n, nil
}

// Current reads a node. One that does not exist counts as revoked.
func (r *Registry) Current(ctx context.Context, id string) (ledger.Node, error) {
	n, err := r.store.Node(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return ledger.Node{ID: id, Status: ledger.NodeRevoked}, nil
	case err != nil:
		return ledger.Node{}, fmt.Errorf("read node: %w", err)
	}
	return n, nil
}

func (r *Registry) keep(n ledger.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.levels) > approvedMax {
		clear(r.levels)
	}
	r.levels[n.ID] = known{n.Label.Level(), r.now().Add(levelAge)}
}

// Level is the highest level that may be sent to a node: PUBLIC if it is not a node, or can't be read now.
func (r *Registry) Level(id string) flow.Level {
	r.mu.Lock()
	k, ok := r.levels[id]
	r.mu.Unlock()
	if ok && k.until.After(r.now()) {
		return k.level
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookup)
	defer cancel()
	n, err := r.store.Node(ctx, id)
	if err != nil || n.Status != ledger.NodeApproved {
		return flow.Public
	}
	r.keep(n)
	return n.Label.Level()
}

func validName(name string) bool {
	return name != "" && len(name) <= nameMax && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && name[0] != '-' && name[len(name)-1] != '-'
}

func suffix() string {
	random := make([]byte, suffixLen)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return hex.EncodeToString(random)
}

func newCode() string {
	code := make([]byte, codeLen)
	_, _ = rand.Read(code) // never fails, see crypto/rand
	for i, b := range code {
		code[i] = codeAlphabet[int(b)%len(codeAlphabet)] // 32 letters: no bias
	}
	return string(code)
}
