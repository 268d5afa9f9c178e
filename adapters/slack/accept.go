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

// intake hands Slack's events to the acceptor: each once, in the order of its conversation. Safe for concurrent use.
type intake struct {
	cfg     Config
	state   *state
	metrics *metrics
	lanes   *lanes
	web     *web
	bot     *identity
	reader  *reader
}

// acceptOne takes one item whose turn it is. A panic of the acceptor is its failure: on a
// goroutine of its own it would end the process, again at each start.
func (i *intake) acceptOne(ctx context.Context, in adapters.Acceptor, it item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			i.metrics.event(i.cfg.Account, outcomeFailed)
			err = fmt.Errorf("accept slack event: panic: %v\n%s", p, debug.Stack())
		}
	}()
	me, err := i.bot.whoami(ctx)
	if err != nil {
		return fmt.Errorf("learn who the bot is: %w", err)
	}
	inbound, ok, err := i.readable(ctx, me, it)
	switch {
	case err != nil:
		i.malformed([]byte(it.lane), err)
		return nil
	case !ok:
		i.metrics.event(i.cfg.Account, outcomeIgnored)
		return nil
	}
	i.notePartial(&inbound, it)
	free, err := i.lanes.slot(ctx)
	if err != nil {
		return fmt.Errorf("wait to accept event %s: %w", inbound.Event, err)
	}
	defer free()
	faultpoint.Hit(faultpoint.PollBeforeAccept)
	i.state.event() // before the acceptor has it: who learns of the event may look at once
	if err := in.Accept(ctx, inbound); err != nil {
		i.metrics.event(i.cfg.Account, outcomeFailed)
		return fmt.Errorf("accept event %s: %w", inbound.Event, err)
	}
	i.metrics.event(i.cfg.Account, outcomeAccepted)
	return nil
}

// readable normalises an item. What makes that panic would do so again: it counts as malformed.
func (i *intake) readable(ctx context.Context, me *self, it item) (in adapters.Inbound, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("normalise: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return i.reader.normalise(ctx, me, it)
}

// notePartial says of an event that a part of it could not be read: to its reader, in the log and in the metric.
func (i *intake) notePartial(in *adapters.Inbound, it item) {
	if it.unread == "" {
		return
	}
	in.Unread = it.unread
	i.metrics.event(i.cfg.Account, outcomePartial)
	i.cfg.Log.Warn("slack event read in part: a field has an unexpected type", "event", in.Event, "field", it.unread)
}

// malformed logs what can't be read, and never will be: it is confirmed, as Slack would give it again for nothing.
func (i *intake) malformed(raw []byte, why error) {
	const most = 2000
	i.metrics.event(i.cfg.Account, outcomeMalformed)
	text := loggable(raw)
	i.cfg.Log.Error("malformed slack event skipped", "error", why, "event", valid(text[:min(len(text), most)]), "bytes", len(raw))
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
