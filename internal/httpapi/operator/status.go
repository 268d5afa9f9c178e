package operator

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// readyTimeout bounds the check of the parts.
const readyTimeout = 3 * time.Second

// Health is the state of one part of the gateway.
type Health struct {
	Name   string `json:"name" doc:"store, bus, disk, replicas, <channel>/<account>, or mcp/<server>"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty" doc:"what is wrong, and what to do"`
	// Optional: the gateway is ready without this part.
	Optional bool `json:"optional,omitempty" doc:"the gateway is ready without it"`
	// Kind replaces the name for callers without a token; empty: the name is shown.
	Kind string `json:"-"`
	// Level hides the part from callers below it. Invalid: everybody may see the part.
	Level flow.Level `json:"-"`
}

// StatusAPI serves the gateway's health and state.
type StatusAPI struct {
	Visible    *view.Visibility
	Parts      func(ctx context.Context) []Health
	Accounts   func() []adapters.State
	Deliveries DeliveryRows
	Refusals   RefusalRows
	Tokens     *auth.Tokens
	Denials    *denials.Trail
	Version    string
	Commands   string // how the commands of agents are limited
	Started    time.Time
	Now        func() time.Time
}

// RefusalRows reads whose messages were refused.
type RefusalRows interface {
	ListRefusals(ctx context.Context, most flow.Level, before time.Time, limit int) ([]ledger.Refusal, error)
}

const (
	// limitedSince is how far back the state of the gateway names who was limited.
	limitedSince = time.Hour
	// refusalsMax is how many refusals are read for this.
	refusalsMax = 200
)

// StatusRecord is the state of the gateway as a caller may know it.
type StatusRecord struct {
	Version    string                        `json:"version"`
	Started    time.Time                     `json:"started"`
	Uptime     string                        `json:"uptime"`
	Ready      bool                          `json:"ready"`
	Parts      []Health                      `json:"parts"`
	Accounts   []AccountRecord               `json:"accounts"`
	Commands   string                        `json:"commands,omitempty" doc:"how the commands of agents are limited: groups, or why each process has its own limits"`
	Deliveries map[ledger.DeliveryStatus]int `json:"deliveries" doc:"number of deliveries by status, without sent and discarded"`
	Limited    []LimitedRecord               `json:"limited,omitempty" doc:"people and tokens that were limited in the last hour, the latest first; for operators"`
}

// LimitedRecord is somebody whose messages or requests were refused because of a limit.
type LimitedRecord struct {
	Person string    `json:"person" example:"telegram:1001"`
	Reason string    `json:"reason"`
	Count  int       `json:"count" doc:"messages and requests that were refused, also earlier ones"`
	Last   time.Time `json:"last"`
}

// AccountRecord is the state of an account of a channel.
type AccountRecord struct {
	adapters.State
	Classification string `json:"classification" doc:"the highest level that may be sent through it; a group or person may have a lower one"`
}

// Get answers with the state of the gateway.
func (a *StatusAPI) Get(ctx context.Context, _ *struct{}) (*wire.Body[StatusRecord], error) {
	out := a.Show(ctx)
	counts, err := a.Deliveries.CountDeliveries(ctx, auth.CallerOf(ctx).Level)
	if err == nil { // if the store is unavailable, the parts say so
		out.Deliveries = counts
	}
	out.Limited = a.limited(ctx)
	return wire.NewBody(out), nil
}

// limited lists who was limited lately, for operators. If the store is unavailable, the parts say so.
func (a *StatusAPI) limited(ctx context.Context) (all []LimitedRecord) {
	if view.NeedOperator(ctx) != nil {
		return nil
	}
	rows, err := a.Refusals.ListRefusals(ctx, auth.CallerOf(ctx).Level, time.Time{}, refusalsMax)
	if err != nil {
		return nil
	}
	since := a.Now().Add(-limitedSince)
	for _, r := range rows {
		if r.Limit() != "" && r.Last.After(since) && a.Visible.ChannelSeen(ctx, r.Channel, cmp.Or(r.Account, "default")) {
			all = append(all, LimitedRecord{sessions.Principal(r.Channel, r.User.ID), r.Reason, r.Count, r.Last})
		}
	}
	return all
}

// Show is the state of the gateway, without its deliveries.
func (a *StatusAPI) Show(ctx context.Context) StatusRecord {
	who := auth.CallerOf(ctx)
	out := StatusRecord{
		Version: a.Version, Started: a.Started.UTC(), Uptime: a.Now().Sub(a.Started).Round(time.Second).String(),
		Accounts: a.visibleAccounts(ctx), Commands: a.Commands,
	}
	out.Ready, out.Parts = a.health(ctx, who)
	return out
}

// visibleAccounts are the accounts of those channels that the caller may know of.
func (a *StatusAPI) visibleAccounts(ctx context.Context) []AccountRecord {
	seen := []AccountRecord{}
	for _, s := range a.Accounts() {
		if a.Visible.ChannelSeen(ctx, s.Channel, s.Account) {
			seen = append(seen, AccountRecord{s, a.Visible.ChannelLevel(s.Channel, s.Account).String()})
		}
	}
	return seen
}

// health says whether the gateway is ready, and the state of those parts that the caller may know of.
func (a *StatusAPI) health(ctx context.Context, who auth.Caller) (ready bool, parts []Health) {
	parts = a.Parts(ctx)
	ready = allOK(parts)
	return ready, slices.DeleteFunc(parts, func(p Health) bool { return p.Level.Valid() && !who.Sees(flow.NewLabel(p.Level, flow.Trusted)) })
}

func allOK(parts []Health) bool {
	return !slices.ContainsFunc(parts, func(p Health) bool { return !p.OK && !p.Optional })
}

// byKind merges the parts of each kind into one, without details.
func byKind(parts []Health) []Health {
	kinds := []Health{}
	for _, p := range parts {
		name := cmp.Or(p.Kind, p.Name)
		i := slices.IndexFunc(kinds, func(h Health) bool { return h.Name == name })
		if i < 0 {
			kinds = append(kinds, Health{Name: name, OK: p.OK, Optional: p.Optional})
			continue
		}
		switch k := &kinds[i]; {
		case k.OK == p.OK:
			k.Optional = k.Optional && p.Optional
		case k.OK: // what works does not say whether the gateway needs the part that does not
			k.OK, k.Optional = false, p.Optional
		}
	}
	return kinds
}

// Ready answers 200 only if every part that is not optional works, and lists the parts. Without a token it shows only the
// kinds of the PUBLIC parts and no details, because these contain paths, addresses and names.
func (a *StatusAPI) Ready(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	who, err := a.Tokens.Identify(r, false)
	known := err == nil
	if !known {
		a.Denials.Stranger(r)
		who.Level = flow.Public
	}
	var out struct {
		Ready bool     `json:"ready"`
		Parts []Health `json:"parts"`
	}
	if out.Ready, out.Parts = a.health(ctx, who); !known && !policy.CheckStranger.Skipped() {
		out.Parts = byKind(out.Parts)
	}
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	wire.WriteJSON(w, status, out)
	return nil
}

// Alive answers as long as the process serves requests.
func Alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // the caller has gone
}
