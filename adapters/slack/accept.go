package slack

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"

	"sluice/adapters"
	"sluice/internal/faultpoint"
)

// acceptOne takes one item whose turn it is. A panic of the acceptor is its failure: on a
// goroutine of its own it would end the process, again at each start.
func (a *Adapter) acceptOne(ctx context.Context, in adapters.Acceptor, it item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.metrics.event(a.cfg.Account, outcomeFailed)
			err = fmt.Errorf("accept slack event: panic: %v\n%s", p, debug.Stack())
		}
	}()
	me, err := a.whoami(ctx)
	if err != nil {
		return fmt.Errorf("learn who the bot is: %w", err)
	}
	inbound, ok, err := a.readable(ctx, me, it)
	switch {
	case err != nil:
		a.malformed([]byte(it.lane), err)
		return nil
	case !ok:
		a.metrics.event(a.cfg.Account, outcomeIgnored)
		return nil
	}
	a.notePartial(&inbound, it)
	free, err := a.lanes.slot(ctx)
	if err != nil {
		return fmt.Errorf("wait to accept event %s: %w", inbound.Event, err)
	}
	defer free()
	faultpoint.Hit(faultpoint.PollBeforeAccept)
	a.state.event() // before the acceptor has it: who learns of the event may look at once
	if err := in.Accept(ctx, inbound); err != nil {
		a.metrics.event(a.cfg.Account, outcomeFailed)
		return fmt.Errorf("accept event %s: %w", inbound.Event, err)
	}
	a.metrics.event(a.cfg.Account, outcomeAccepted)
	return nil
}

// readable normalises an item. What makes that panic would do so again: it counts as malformed.
func (a *Adapter) readable(ctx context.Context, me *self, it item) (in adapters.Inbound, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("normalise: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return a.normalise(ctx, me, it)
}

// notePartial says of an event that a part of it could not be read: to its reader, in the log and in the metric.
func (a *Adapter) notePartial(in *adapters.Inbound, it item) {
	if it.unread == "" {
		return
	}
	in.Unread = it.unread
	a.metrics.event(a.cfg.Account, outcomePartial)
	a.cfg.Log.Warn("slack event read in part: a field has a type that is not expected", "event", in.Event, "field", it.unread)
}

// malformed logs what can't be read, and never will be: it is confirmed, as Slack would give it again for nothing.
func (a *Adapter) malformed(raw []byte, why error) {
	const most = 2000
	a.metrics.event(a.cfg.Account, outcomeMalformed)
	text := loggable(raw)
	a.cfg.Log.Error("malformed slack event skipped", "error", why, "event", valid(text[:min(len(text), most)]), "bytes", len(raw))
}

// secretValue is what a body holds that lets its reader act: verification tokens, and the addresses and ids that answer people.
var secretValue = regexp.MustCompile(`("(?:token|response_url|trigger_id)"\s*:\s*")[^"]*|((?:^|&)(?:token|response_url|trigger_id)=)[^&]*`)

// loggable is a body without its secrets.
func loggable(raw []byte) string {
	text := string(raw)
	if plain, err := url.QueryUnescape(text); err == nil && strings.Contains(text, "%22") {
		text = plain // an interaction is JSON in a form
	}
	return valid(secretValue.ReplaceAllString(text, "${1}${2}<secret>"))
}
