package senders

import (
	"context"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
)

// sender is a caller as the source of alerts.
func sender(who auth.Caller, protocol string, label flow.Label) Sender {
	if !who.Owner() {
		protocol += "/" + who.Name
	}
	return Sender{Source: protocol, Label: label, Actor: who.Actor()}
}

// report hands over what a caller says.
func report(ctx context.Context, to Alerts, from Sender, events []intake.Event) error {
	if len(events) == 0 {
		return nil
	}
	who := auth.CallerOf(ctx)
	for i := range events {
		events[i].Key = who.AlertKey(events[i].Key)
	}
	return to.Report(ctx, from, events)
}
