package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"sluice/internal/schema"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Call is one call of a tool whose parameters are an A. Its arguments fit the schema of A.
type Call[A any] struct {
	Caller sessions.Caller
	Args   A
	raw    json.RawMessage
}

// Key names the call forever. Its arguments are a part of the key, because some models give the calls of each answer the
// same ids.
func (c Call[A]) Key() string {
	said := sha256.Sum256(c.raw)
	return ledger.ToolCallPrefix + string(c.Caller.Run) + "/" + c.Caller.CallID + "/" + hex.EncodeToString(said[:8])
}

// Work is what a tool does with its calls. Either Run or SubAgent is required; see [sessions.Tool] for all of them.
type Work[A any] struct {
	Run      func(ctx context.Context, c Call[A]) (sessions.ToolResult, error)
	SubAgent func(ctx context.Context, c Call[A]) (sessions.SubAgentPlan, error)
	Check    func(ctx context.Context, c Call[A]) error
	Beyond   func(ctx context.Context, c Call[A]) (bool, error)
}

// New completes a tool with its parameters, which are an A, and with its work. All arguments are checked here, against the
// schema that models are told, before they are decoded.
func New[A any](t sessions.Tool, w Work[A]) sessions.Tool {
	s := schema.Of[A]()
	t.Spec.Parameters = s.Text()
	if s.Aliased() {
		t.Named = s.Named
	}
	if w.Run != nil {
		t.Run = func(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
			args, err := schema.Decode[A](raw)
			if err != nil {
				return sessions.ToolResult{}, err
			}
			return w.Run(ctx, Call[A]{caller, args, raw})
		}
	}
	if w.SubAgent != nil {
		t.SubAgent = func(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.SubAgentPlan, error) {
			args, err := schema.Decode[A](raw)
			if err != nil {
				return sessions.SubAgentPlan{}, err
			}
			return w.SubAgent(ctx, Call[A]{caller, args, raw})
		}
	}
	if w.Check != nil {
		t.Check = func(ctx context.Context, caller sessions.Caller, raw json.RawMessage) error {
			args, err := schema.Decode[A](raw)
			if err != nil {
				return err
			}
			return w.Check(ctx, Call[A]{caller, args, raw})
		}
	}
	if w.Beyond != nil {
		t.Beyond = func(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (bool, error) {
			args, err := schema.Decode[A](raw)
			if err != nil {
				return false, nil //nolint:nilerr // the tool refuses such a call, which then reaches nobody
			}
			return w.Beyond(ctx, Call[A]{caller, args, raw})
		}
	}
	return t
}
