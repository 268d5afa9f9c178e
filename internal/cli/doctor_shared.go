package cli

import (
	"context"
	"strings"

	"sluice/router"
	"sluice/router/ledger"
)

// shared says that others than owners talk in the owner's session, where they do. Who was
// let in by a code only a running gateway knows.
func (d *doctor) shared(ctx context.Context, running bool) {
	text := router.SharedMain(d.cfg.Session.Keyer())
	if text == "" {
		return
	}
	guests := d.cfg.Guests()
	if paired := d.paired(ctx, running); paired > 0 {
		guests = append(guests, plural(paired, "person has been", "people have been")+" let in by a code")
	}
	if len(guests) > 0 {
		d.add(finding{
			part: "direct chats", text: strings.Join(guests, ", ") + ".\n" + text,
			mend: "edit session.dmScope, then sluice doctor", note: true,
		})
	}
}

// paired counts who was let in by a code and may still talk. It is 0 where that can't be had: other parts say why.
func (d *doctor) paired(ctx context.Context, running bool) int {
	c, err := d.client()
	if err != nil || !running {
		return 0
	}
	var got pairingList
	if _, err := c.decode(ctx, request{path: "/v1/pairings"}, &got); err != nil {
		return 0
	}
	n := 0
	for _, p := range got.Pairings {
		if p.Status == string(ledger.PairingApproved) && d.cfg.LetsPair(p.Channel) {
			n++
		}
	}
	return n
}
