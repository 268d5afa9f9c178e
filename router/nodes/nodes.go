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
	return &Registry{store: store, now: now, pairing: pairing, levels: map[string]known{}}
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
	if err := r.room(ctx, now); err != nil {
		return ledger.Node{}, err
	}
	n := ledger.Node{
		ID: a.Name + "-" + suffix(), Revision: 1, Status: ledger.NodePending, Code: newCode(), Token: a.Token, Label: flow.NewLabel(flow.Public, flow.Untrusted),
		NodeDetail: ledger.NodeDetail{Name: a.Name, Platform: a.Platform}, Created: now, Expires: now.Add(codeLife), Changed: now,
	}
	err := r.store.Commit(ctx, ledger.Change{Nodes: []ledger.Node{n}, Change: entry(n, now, "nobody", "node.request")})
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

// room says whether one more program may wait.
func (r *Registry) room(ctx context.Context, now time.Time) error {
	waiting, err := r.pending(ctx, now)
	if err != nil {
		return err
	}
	if len(waiting) >= pendingMax {
		return ErrFull
	}
	return nil
}

// pending reads the requests that can still be approved.
func (r *Registry) pending(ctx context.Context, now time.Time) ([]ledger.Node, error) {
	all, err := r.store.ListNodes(ctx, ledger.NodeQuery{Status: ledger.NodePending, MaxLevel: flow.Restricted})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return slices.DeleteFunc(all, func(n ledger.Node) bool { return !n.Expires.After(now) }), nil
}

// Approve makes the program that shows a code a node with a level.
func (r *Registry) Approve(ctx context.Context, code string, level flow.Level, actor string) (ledger.Node, error) {
	now := r.now()
	waiting, err := r.pending(ctx, now)
	if err != nil {
		return ledger.Node{}, err
	}
	i := slices.IndexFunc(waiting, func(n ledger.Node) bool { return n.Code != "" && n.Code == strings.ToUpper(code) })
	if i < 0 {
		return ledger.Node{}, ErrCode
	}
	approved, err := r.store.ListNodes(ctx, ledger.NodeQuery{Status: ledger.NodeApproved, MaxLevel: flow.Restricted, Limit: approvedMax})
	if err != nil {
		return ledger.Node{}, fmt.Errorf("list nodes: %w", err)
	}
	if len(approved) >= approvedMax {
		return ledger.Node{}, &request.Error{Field: "code", Text: fmt.Sprintf("there are %d nodes already: revoke one first", approvedMax)}
	}
	n := waiting[i]
	n.Revision++
	n.Status, n.Code, n.Actor, n.Changed, n.Label = ledger.NodeApproved, "", actor, now, flow.NewLabel(level, flow.Untrusted)
	return n, r.move(ctx, n, entry(n, now, actor, "node.approve"))
}

// Revoke takes a node's access, or refuses one that waits.
func (r *Registry) Revoke(ctx context.Context, id, actor string) (ledger.Node, error) {
	n, err := r.store.Node(ctx, id)
	if err != nil {
		return n, fmt.Errorf("read node: %w", err)
	}
	if n.Status == ledger.NodeRevoked {
		return n, nil
	}
	now := r.now()
	n.Revision++
	n.Status, n.Code, n.Actor, n.Changed = ledger.NodeRevoked, "", actor, now
	return n, r.move(ctx, n, entry(n, now, actor, "node.revoke"))
}

// move stores a new status.
func (r *Registry) move(ctx context.Context, n ledger.Node, about sessions.Change) error {
	if err := r.store.Commit(ctx, ledger.Change{Nodes: []ledger.Node{n}, Change: about}); err != nil {
		return fmt.Errorf("store node: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.levels, n.ID)
	return nil
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

// Approved reports whether a node is still approved.
func (r *Registry) Approved(ctx context.Context, id string) (bool, error) {
	n, err := r.store.Node(ctx, id)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return false, fmt.Errorf("read node: %w", err)
	}
	return n.Status == ledger.NodeApproved, nil
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
