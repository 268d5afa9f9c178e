package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

func (s *Server) operatorRoutes(api huma.API) {
	huma.Register(api, op(http.MethodGet, "/v1/status", "status", "How the gateway does"), s.status)
	huma.Register(api, op(http.MethodGet, "/v1/directory", "look-up", "A conversation by its name or id, and who is in it"), s.directory)
	huma.Register(api, op(http.MethodGet, "/v1/audit", "list-audit", "The audit trail, newest first"), s.listAudit)
	huma.Register(api, op(http.MethodGet, "/v1/audit/verify", "verify-audit", "Whether the audit trail is as it was written"), s.verifyAudit)
	huma.Register(api, op(http.MethodGet, "/v1/pairings", "list-pairings", "Who has asked to talk and who may"), s.pairings)
	huma.Register(api, op(http.MethodPost, "/v1/pairings/{code}/approve", "approve-pairing", "Let somebody in who was told this code"), s.approve)
	huma.Register(api, op(http.MethodPost, "/v1/pairings/{code}/deny", "deny-pairing", "Refuse somebody who was told this code; they may ask again after a day"), s.deny)
	huma.Register(api, op(http.MethodPost, "/v1/pairings/revoke", "revoke-pairing", "Let somebody in no longer", http.StatusNoContent), s.revoke)
}

type statusRecord struct {
	Version    string                        `json:"version"`
	Started    time.Time                     `json:"started"`
	Uptime     string                        `json:"uptime"`
	Ready      bool                          `json:"ready"`
	Parts      []Health                      `json:"parts"`
	Accounts   []accountRecord               `json:"accounts"`
	Deliveries map[ledger.DeliveryStatus]int `json:"deliveries" doc:"how many there are of each status but sent and discarded"`
}

// accountRecord is how an account of a channel does.
type accountRecord struct {
	adapters.State
	Classification string `json:"classification" doc:"the highest level that may be said through it; a group or person may have a lower one"`
}

func (s *Server) status(ctx context.Context, _ *struct{}) (*body[statusRecord], error) {
	out := statusRecord{
		Version: s.cfg.Version, Started: s.started.UTC(), Uptime: s.cfg.Now().Sub(s.started).Round(time.Second).String(),
		Accounts: s.accounts(ctx),
	}
	out.Ready, out.Parts = s.health(ctx, callerOf(ctx))
	counts, err := s.cfg.Store.CountDeliveries(ctx, callerOf(ctx).Level)
	if err == nil { // a store that is away is among the parts
		out.Deliveries = counts
	}
	return &body[statusRecord]{out}, nil
}

// accounts are those of the channels that the caller may know of.
func (s *Server) accounts(ctx context.Context) []accountRecord {
	seen := []accountRecord{}
	for _, a := range s.cfg.Accounts() {
		if s.channelSeen(ctx, a.Channel, a.Account) {
			seen = append(seen, accountRecord{a, s.channelLevel(a.Channel, a.Account).String()})
		}
	}
	return seen
}

// health says whether the gateway is ready, and how those of its parts do that somebody may know of.
func (s *Server) health(ctx context.Context, who caller) (ready bool, parts []Health) {
	parts = s.cfg.Parts(ctx)
	ready = allOK(parts)
	return ready, slices.DeleteFunc(parts, func(p Health) bool { return p.Level.Valid() && !who.sees(flow.NewLabel(p.Level, flow.Trusted)) })
}

func allOK(parts []Health) bool {
	for _, p := range parts {
		if !p.OK && !p.Optional {
			return false
		}
	}
	return true
}

// kinds are parts without their details, those of a kind as one.
func kinds(parts []Health) []Health {
	seen := []Health{}
	for _, p := range parts {
		name := cmp.Or(p.Kind, p.Name)
		i := slices.IndexFunc(seen, func(h Health) bool { return h.Name == name })
		if i < 0 {
			seen = append(seen, Health{Name: name, OK: p.OK, Optional: p.Optional})
			continue
		}
		seen[i].OK, seen[i].Optional = seen[i].OK && p.OK, seen[i].Optional && p.Optional
	}
	return seen
}

// readyTimeout bounds the look at the parts.
const readyTimeout = 3 * time.Second

// ready answers 200 only when every part that is not optional works, and says which does not. Without a token the kinds of
// the parts that are PUBLIC are named, and nothing of what is wrong: that has paths, addresses and names in it.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	who, known := s.identify(r)
	if !known {
		s.denyStranger(r)
		who.Level = flow.Public
	}
	var out struct {
		Ready bool     `json:"ready"`
		Parts []Health `json:"parts"`
	}
	if out.Ready, out.Parts = s.health(ctx, who); !known && !policy.CheckStranger.Skipped() {
		out.Parts = kinds(out.Parts)
	}
	w.Header().Set("Content-Type", "application/json")
	if !out.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(out) // the caller has gone
}

type pairingList struct {
	Pairings []pairingRecord `json:"pairings"`
}

func (s *Server) pairings(ctx context.Context, _ *struct{}) (*body[pairingList], error) {
	if err := needOperator(ctx); err != nil {
		return nil, err
	}
	out := pairingList{Pairings: []pairingRecord{}}
	for _, status := range []ledger.PairingStatus{ledger.PairingPending, ledger.PairingApproved} {
		found, err := s.cfg.Store.ListPairings(ctx, "", "", status)
		if err != nil {
			return nil, s.problem(err)
		}
		for _, p := range found {
			if status == ledger.PairingPending && !p.Expires.After(s.cfg.Now()) || !s.channelSeen(ctx, p.Channel, p.Account) {
				continue
			}
			out.Pairings = append(out.Pairings, pairingOf(p))
		}
	}
	return &body[pairingList]{out}, nil
}

type pairingCode struct {
	Code string `path:"code" maxLength:"32"`
}

func (s *Server) approve(ctx context.Context, in *pairingCode) (*body[pairingRecord], error) {
	out, err := s.settle(ctx, in.Code, s.mayAdmit, s.cfg.Router.ApprovePairing)
	if err != nil {
		return nil, err
	}
	out.Body.Note = s.cfg.Router.SharedMain()
	return out, nil
}

func (s *Server) deny(ctx context.Context, in *pairingCode) (*body[pairingRecord], error) {
	return s.settle(ctx, in.Code, func(context.Context) error { return nil }, s.cfg.Router.DenyPairing)
}

// mayAdmit refuses a named token that may not know all that the person whom it admits could ask for.
func (s *Server) mayAdmit(ctx context.Context) error {
	if who := callerOf(ctx); who.Name != "" && !who.seesAll() && s.cfg.Router.SharedMain() != "" {
		return forbidden("who is admitted speaks in the main session, which may know what is RESTRICTED, and you may see what is " + who.Level.String() + ": let the owner approve, or set session.dmScope to per-channel-peer")
	}
	return nil
}

// noCode is the code of no pairing. It counts as a wrong one.
const noCode = ""

// settle decides about who was told a code, if the caller may. A code of a channel above the caller's level is as a wrong one.
func (s *Server) settle(ctx context.Context, code string, may func(context.Context) error, decide func(ctx context.Context, code, actor string) (ledger.Pairing, error)) (*body[pairingRecord], error) {
	code = strings.ToUpper(code)
	pending, err := s.cfg.Store.ListPairings(ctx, "", "", ledger.PairingPending)
	if err != nil {
		return nil, s.problem(err)
	}
	for _, p := range pending {
		switch {
		case p.Code != code:
		case !s.channelSeen(ctx, p.Channel, p.Account):
			code = noCode
			s.denyChannel(ctx, "pairing", "/"+string(p.User.ID), p.Channel, p.Account)
		default:
			if err := may(ctx); err != nil {
				return nil, err
			}
		}
	}
	p, err := decide(ctx, code, callerOf(ctx).actor())
	switch {
	case errors.Is(err, router.ErrPairingLocked):
		return nil, &apiError{http.StatusTooManyRequests, "pairing_locked", router.ErrPairingLocked.Text}
	case errors.Is(err, router.ErrPairingCode):
		return nil, &apiError{http.StatusNotFound, "not_found", router.ErrPairingCode.Text}
	case err != nil:
		return nil, s.problem(err)
	}
	return &body[pairingRecord]{pairingOf(p)}, nil
}

func (s *Server) revoke(ctx context.Context, in *struct {
	Body struct {
		Channel string `json:"channel" minLength:"1"`
		Account string `json:"account,omitempty" doc:"default: default"`
		User    string `json:"user" minLength:"1" doc:"the person's id on the channel"`
	}
},
) (*struct{}, error) {
	account := in.Body.Account
	if account == "" {
		account = "default"
	}
	if !s.channelSeen(ctx, in.Body.Channel, account) {
		s.denyChannel(ctx, "channel", "", in.Body.Channel, account)
		return nil, errNotFound
	}
	if err := s.cfg.Router.RevokePairing(ctx, in.Body.Channel, account, sessions.UserID(in.Body.User), callerOf(ctx).actor()); err != nil {
		return nil, s.problem(err)
	}
	return nil, nil
}
