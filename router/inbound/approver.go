package inbound

import (
	"context"
	"errors"
	"fmt"

	"sluice/policy"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// admitApprover admits a decision in a direct chat with a person who may not talk to the agent, if a rule names them as an
// approver of this question: the gateway asks them there. Who was removed by "pairing revoke" is not admitted.
func admitApprover(ctx context.Context, i *Intake, in Admission, how place.Admit) (place.Admit, error) {
	if how == place.AdmitRun || in.Route.ChatType != sessions.Direct || in.Sender.Bot {
		return how, nil
	}
	cmd, ok := commands.Of(in.Inbound)
	if in.Press != "" {
		p, err := findPress(ctx, i.Buttons, in)
		if err != nil && !errors.Is(err, errNoButton) {
			return how, err
		}
		cmd, ok = commands.Command{Name: p.control.Command, Args: p.control.Args}, err == nil
	}
	if !ok || cmd.Name != "approve" {
		return how, nil
	}
	call := commands.Call{In: in.arrival(), Token: in.Token, Args: cmd.Args, Quotes: policy.NewQuotation(i.SinkLevel(in.Route))}
	may, err := i.Commands.May(ctx, cmd.Name, call)
	if err != nil {
		return how, fmt.Errorf("command /%s: %w", cmd.Name, err)
	}
	if !may {
		return how, nil
	}
	p, err := i.Buttons.PairingOf(ctx, in.Route.Channel, in.Route.Account, in.Sender.ID)
	switch {
	case err != nil && !errors.Is(err, sessions.ErrNotFound):
		return how, fmt.Errorf("read pairing: %w", err)
	case err == nil && p.Status == ledger.PairingRevoked:
		return how, nil
	}
	return place.AdmitCommand, nil
}
