package commands

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/alert"
	"sluice/router/ledger"
)

// Alerts answers the commands about alerts, see [alert.Alerts].
type Alerts interface {
	MayCommand(ctx context.Context, name, args string, c alert.Caller) (bool, error)
	Command(ctx context.Context, name, args string, c alert.Caller) (ledger.Change, string, error)
}

// alerting is a command about alerts.
func alerting(name, help string) spec {
	caller := func(c Call) alert.Caller {
		most := flow.Restricted
		if c.Token != nil {
			most = c.Token.Level
		}
		return alert.Caller{Actor: c.In.Speaker(), Owner: c.Owner, MaxLevel: most, Route: c.In.Route, Show: c.Quotes.Show}
	}
	return spec{
		name: name, help: help, owner: true,
		others: func(k *Commands, ctx context.Context, c Call) (bool, error) {
			return k.Alerts.MayCommand(ctx, name, c.Args, caller(c))
		},
		run: func(k *Commands, ctx context.Context, c Call) (ledger.Change, string, error) {
			return k.Alerts.Command(ctx, name, c.Args, caller(c))
		},
	}
}
