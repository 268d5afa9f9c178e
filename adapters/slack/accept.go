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

// intake passes Slack's events to the acceptor, each once, in the order of its conversation. It is safe for concurrent use.
type intake struct {
	cfg     Config
	state   *adapters.Tracker
	metrics *metrics
	lanes   *lanes
	web     *web
	bot     *identity
	reader  *reader
}

// acceptOne passes one item to the acceptor. A panic of the acceptor counts as a failure to accept the item: otherwise it
// would end the process, at each start again.
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
	i.state.Event() // before the acceptor gets it, because a caller may query the state as soon as the event is known
	if err := in.Accept(ctx, inbound); err != nil {
		i.metrics.event(i.cfg.Account, outcomeFailed)
		return fmt.Errorf("accept event %s: %w", inbound.Event, err)
	}
	i.metrics.event(i.cfg.Account, outcomeAccepted)
	return nil
}

// readable normalises an item. If that panics, the item counts as malformed, because it would panic again.
func (i *intake) readable(ctx context.Context, me *self, it item) (in adapters.Inbound, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("normalise: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return i.reader.normalise(ctx, me, it)
}

// notePartial records that a part of an event could not be read: in the event itself, in the log and in the metric.
func (i *intake) notePartial(in *adapters.Inbound, it item) {
	if it.unread == "" {
		return
	}
	in.Unread = it.unread
	i.metrics.event(i.cfg.Account, outcomePartial)
	i.cfg.Log.Warn("slack event read in part: a field has an unexpected type", "event", in.Event, "field", it.unread)
}

// malformed logs an item that can't be read. The item is confirmed, because Slack would only repeat it.
func (i *intake) malformed(raw []byte, why error) {
	const most = 2000
	i.metrics.event(i.cfg.Account, outcomeMalformed)
	text := loggable(raw)
	i.cfg.Log.Error("malformed slack event skipped", "error", why, "event", valid(text[:min(len(text), most)]), "bytes", len(raw))
}

// secretValue matches the credentials in a body: verification tokens, and the addresses and ids with which people are answered.
var secretValue = regexp.MustCompile(`("(?:token|response_url|trigger_id)"\s*:\s*")[^"]*|((?:^|&)(?:token|response_url|trigger_id)=)[^&]*`)

// loggable returns a body without its credentials.
func loggable(raw []byte) string {
	text := string(raw)
	if plain, err := url.QueryUnescape(text); err == nil && strings.Contains(text, "%22") {
		text = plain // an interaction is JSON in a form
	}
	return valid(secretValue.ReplaceAllString(text, "${1}${2}<secret>"))
}
