package approvals

import (
	"context"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// AskAboutNode asks the owners in their direct chats, on all their channels, whether a program may be a node. The gateway's own
// page is asked only if no owner has another channel.
func (r *Pairings) AskAboutNode(ctx context.Context, n ledger.Node) []ledger.Delivery {
	ctx, cancel := context.WithTimeout(ctx, outbound.DirectoryTimeout)
	defer cancel()
	q := question{
		asks: n.Question(), label: n.Label, command: "nodes", code: n.Code,
		text: fmt.Sprintf("The program `%s` (%s) asks to be a node. Its code is `%s`; it is valid for an hour. Approve it only if your program shows this code. "+
			"The node then gets nothing above PUBLIC. For a higher level, send `/nodes approve %s INTERNAL`.", n.ID, n.Platform, n.Code, n.Code),
	}
	var asked []ledger.Delivery
	for _, channel := range ownersChannels(r.Composer.Settings().Owners) {
		asked = append(asked, r.askOwners(ctx, channel, "default", q)...)
	}
	return asked
}

// ownersChannels are the channels of the owners, each once, without the page if there are others.
func ownersChannels(owners []string) []string {
	var channels []string
	for _, who := range owners {
		if channel, _, ok := sessions.ParsePrincipal(who); ok && !slices.Contains(channels, channel) {
			channels = append(channels, channel)
		}
	}
	if len(channels) > 1 {
		channels = slices.DeleteFunc(channels, func(c string) bool { return c == adapters.Page })
	}
	return channels
}
