package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/adapters"
)

// maxPagesRead bounds the search for one message, in pages of a hundred.
const maxPagesRead = 5

var (
	errBusy    = errors.New("the message cannot be looked up: the channel got too many messages since")
	errPrivate = errors.New("a follow-up to a slash command cannot be looked up")
)

// Reconcile looks for a message among those posted since sentAt. It compares the nonce, which Discord sends when a message
// is created and sometimes later. If the nonce of a message is unknown, it compares the text. A message that is not found
// may be sent again: for some minutes Discord recognises the nonce.
func (a *Adapter) Reconcile(ctx context.Context, out adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	if out.Route.Handle != "" {
		if out.Part == 0 {
			return adapters.Receipt{}, false, nil // it replaces the "thinking…", as often as it is sent
		}
		return adapters.Receipt{}, false, &adapters.Failure{Kind: adapters.Unsupported, Err: errPrivate}
	}
	channelID, err := target(out.Route)
	if err != nil {
		return adapters.Receipt{}, false, err
	}
	self, err := a.bot.whoami(ctx)
	if err != nil {
		return adapters.Receipt{}, false, err
	}
	want := wanted{nonce: nonceOf(out), text: strings.TrimSpace(render(out)), from: self.ID}
	after := previous(snowflake(sentAt))
	for range maxPagesRead {
		page, last, err := a.messages.history(ctx, channelID, after)
		if err != nil {
			return adapters.Receipt{}, false, err
		}
		if m := a.find(page, want); m != nil {
			a.sender.posted.note(m.ID, want.nonce)
			return a.sender.receiptOf(m), true, nil
		}
		if last {
			return adapters.Receipt{}, false, nil
		}
		if len(page) == 0 {
			break // a full page of what can't be read: it may be among it
		}
		after = page[len(page)-1].ID
	}
	return adapters.Receipt{}, false, &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("look for a message: %w", errBusy)}
}

// wanted describes the message to find.
type wanted struct{ nonce, text, from string }

// find returns the wanted message, or nil. It prefers the one with the nonce to one with the same text.
func (a *Adapter) find(page []message, want wanted) *message {
	var same *message
	for i := range page {
		m := &page[i]
		if m.Author == nil || m.Author.ID != want.from {
			continue
		}
		switch nonce := cmp.Or(m.nonce(), a.sender.posted.nonce(m.ID)); {
		case nonce == want.nonce:
			return m
		case nonce == "" && same == nil && strings.TrimSpace(m.text()) == want.text:
			same = m
		}
	}
	return same
}
