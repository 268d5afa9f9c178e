// Package nodes serves the pairing of nodes, their connections, and what operators do with them.
package nodes

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/adapters/node"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/node/protocol"
	"sluice/policy/flow"
	"sluice/router/ledger"
	registry "sluice/router/nodes"
	"sluice/sessions"
)

// Nodes is what the handlers need of the gateway.
type Nodes interface {
	Ask(ctx context.Context, a registry.Asked) (ledger.Node, error)
	Approve(ctx context.Context, code string, level flow.Level, actor string) (ledger.Node, error)
	Revoke(ctx context.Context, id, actor string) (ledger.Node, error)
	SetLevel(ctx context.Context, id string, level flow.Level, actor string) (ledger.Node, error)
	Node(ctx context.Context, id string) (ledger.Node, error)
	List(ctx context.Context, q ledger.NodeQuery) ([]ledger.Node, error)
	// Connected reports whether a node is connected to this process.
	Connected(id string) bool
	// Connect serves a node's connection until it ends.
	Connect(w http.ResponseWriter, r *http.Request) error
}

// API serves nodes.
type API struct {
	Visible *view.Visibility
	Nodes   Nodes
	Now     func() time.Time
}

// record is a node as programs see it.
type record struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Platform       string            `json:"platform"`
	Status         ledger.NodeStatus `json:"status"`
	Code           string            `json:"code,omitempty" doc:"of a pending node, for POST /v1/nodes/approve"`
	Classification string            `json:"classification,omitempty" doc:"highest level of what it gets, and the level of what it sends"`
	Session        sessions.Key      `json:"session"`
	Connected      bool              `json:"connected" doc:"to the replica that answers"`
	Created        time.Time         `json:"created"`
	Expires        *time.Time        `json:"expires,omitempty"`
}

func (a *API) record(n ledger.Node) record {
	out := record{ID: n.ID, Name: n.Name, Platform: n.Platform, Status: n.Status, Code: n.Code, Session: sessions.Key("node-" + n.ID), Connected: a.Nodes.Connected(n.ID), Created: n.Created}
	if n.Status == ledger.NodePending {
		out.Expires = view.Optional(n.Expires)
	} else {
		out.Classification = n.Label.Level().String()
	}
	return out
}

type list struct {
	Nodes []record `json:"nodes"`
}

// listMax is how many nodes a list has at most.
const listMax = 1500

// List lists nodes and the programs that wait for approval.
func (a *API) List(ctx context.Context, _ *struct{}) (*wire.Body[list], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	all, err := a.Nodes.List(ctx, ledger.NodeQuery{MaxLevel: auth.CallerOf(ctx).Level, Limit: listMax})
	if err != nil {
		return nil, err
	}
	out := list{Nodes: []record{}}
	for _, n := range all {
		if n.Status == ledger.NodeApproved || n.Status == ledger.NodePending && n.Expires.After(a.Now()) {
			out.Nodes = append(out.Nodes, a.record(n))
		}
	}
	return wire.NewBody(out), nil
}

// Approval is the body of an approval.
type approval struct {
	Body struct {
		Code           string `json:"code" minLength:"1" maxLength:"32" doc:"that the node shows"`
		Classification string `json:"classification,omitempty" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"highest level of what the node gets, and the level of what it sends; default: PUBLIC"`
	}
}

// Approve makes a program a node. Only the owner may.
func (a *API) Approve(ctx context.Context, in *approval) (*wire.Body[record], error) {
	who := auth.CallerOf(ctx)
	if !who.Owner() {
		return nil, wire.Forbidden("only the owner approves nodes: use the gateway's own token")
	}
	level := flow.Public
	if in.Body.Classification != "" {
		var err error
		if level, err = flow.ParseLevel(in.Body.Classification); err != nil {
			return nil, wire.Invalid(err.Error())
		}
	}
	n, err := a.Nodes.Approve(ctx, in.Body.Code, level, who.Actor())
	if errors.Is(err, registry.ErrCode) {
		return nil, wire.NewError(http.StatusNotFound, wire.ErrNotFound.Code, registry.ErrCode.Text)
	}
	if err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(n)), nil
}

// level is a new level of a node.
type level struct {
	Node string `path:"node" maxLength:"64"`
	Body struct {
		Classification string `json:"classification" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"highest level of what the node gets, and the level of what it sends"`
	}
}

// SetLevel gives a node another level. Only the owner may.
func (a *API) SetLevel(ctx context.Context, in *level) (*wire.Body[record], error) {
	who := auth.CallerOf(ctx)
	if !who.Owner() {
		return nil, wire.Forbidden("only the owner can change the levels of nodes: use the gateway's own token")
	}
	to, err := flow.ParseLevel(in.Body.Classification)
	if err != nil {
		return nil, wire.Invalid(err.Error())
	}
	n, err := a.Nodes.SetLevel(ctx, in.Node, to, who.Actor())
	if err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(n)), nil
}

// Revoke takes a node's access and ends its connection.
func (a *API) Revoke(ctx context.Context, in *struct {
	Node string `path:"node" maxLength:"64"`
},
) (*struct{}, error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	n, err := a.Nodes.Node(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	if err := a.Visible.Check(ctx, nil, denials.Object{Kind: "node", ID: n.ID, Label: n.Label}); err != nil {
		return nil, err
	}
	_, err = a.Nodes.Revoke(ctx, in.Node, auth.CallerOf(ctx).Actor())
	return nil, err
}

// request is the body of a program's request to become a node.
type request struct {
	Body struct {
		Name      string `json:"name" minLength:"1" maxLength:"32" doc:"a-z 0-9 -"`
		Platform  string `json:"platform" minLength:"1" maxLength:"32" doc:"for example linux"`
		TokenHash string `json:"tokenHash" minLength:"64" maxLength:"64" doc:"SHA-256 of the token that the program has made, in hexadecimal"`
	}
}

// asked is the answer to a program's request.
type asked struct {
	Node    string    `json:"node" doc:"its id"`
	Code    string    `json:"code" doc:"that an owner approves: sluice nodes approve CODE"`
	Expires time.Time `json:"expires"`
}

// Pair stores a request of a program that has no token yet.
func (a *API) Pair(ctx context.Context, in *request) (*wire.Body[asked], error) {
	n, err := a.Nodes.Ask(ctx, registry.Asked{Name: in.Body.Name, Platform: in.Body.Platform, Token: in.Body.TokenHash})
	switch {
	case errors.Is(err, registry.ErrFull):
		return nil, wire.NewError(http.StatusTooManyRequests, "pairing_full", registry.ErrFull.Text)
	case errors.Is(err, registry.ErrDisabled):
		return nil, wire.Forbidden(registry.ErrDisabled.Text)
	case err != nil:
		return nil, err
	}
	return wire.NewBody(asked{n.ID, n.Code, n.Expires}), nil
}

// DescribePair describes the operation in the OpenAPI document.
func DescribePair() huma.Operation {
	o := wire.Op(http.MethodPost, protocol.PairPath, "pair-node", "Ask to become a node; needs no token")
	o.Security = []map[string][]string{}
	return o
}

// DescribeConnect describes the operation in the OpenAPI document.
func DescribeConnect() huma.Operation {
	o := wire.Op(http.MethodGet, protocol.Path, "connect-node", "Connect a node over WebSocket, with the node's own token: docs/nodes.md")
	o.Security = []map[string][]string{}
	o.Responses = wire.Responses(http.StatusUnauthorized, nil)
	o.Responses["101"] = &huma.Response{Description: "The connection is a WebSocket now"}
	delete(o.Responses, "200")
	return o
}

// Connect serves a node's connection.
func (a *API) Connect(w http.ResponseWriter, r *http.Request) error {
	err := a.Nodes.Connect(w, r)
	switch {
	case errors.Is(err, node.ErrToken):
		return wire.NewError(http.StatusUnauthorized, "unauthorized", node.ErrToken.Error())
	case errors.Is(err, node.ErrPending):
		return wire.NewError(http.StatusForbidden, "node_pending", node.ErrPending.Error())
	case errors.Is(err, node.ErrRevoked):
		return wire.NewError(http.StatusForbidden, "node_revoked", node.ErrRevoked.Error())
	}
	return err
}
