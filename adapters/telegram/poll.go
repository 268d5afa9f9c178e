package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-telegram/bot"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/pattern"
	"sluice/internal/pause"
)

// pollLimit is the maximum number of updates per call.
const pollLimit = 100

// poller requests updates and confirms the accepted ones.
type poller struct {
	cfg    Config
	state  *state
	api    *api
	bot    *identity
	intake *intake
	in     adapters.Acceptor

	offset int64 // the first unconfirmed update; 0 if Telegram keeps no update that is already confirmed
	single bool  // request one update at a time, because a batch could not be read
	proven bool  // the last call succeeded; otherwise the next one doesn't wait for updates, so that its result shows soon
	last   batch // the last call's result
}

// batch identifies an answer.
type batch struct {
	first, last int64
	size        int
}

// getUpdatesParams is the body of getUpdates; the library's own type is private.
type getUpdatesParams struct {
	Offset         int64    `json:"offset,omitempty"`
	Limit          int      `json:"limit"`
	Timeout        int      `json:"timeout"`
	AllowedUpdates []string `json:"allowed_updates"`
}

// run polls until ctx ends or the token is rejected.
func (p *poller) run(ctx context.Context) error {
	if err := p.api.retry(ctx, "deleteWebhook", p.dropWebhook); err != nil {
		return err
	}
	for {
		err := p.api.retry(ctx, methodGetUpdates, p.step)
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// dropWebhook removes the webhook, which makes getUpdates possible; pending updates are kept.
func (p *poller) dropWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.CallTimeout)
	defer cancel()
	if _, err := p.api.sdk.DeleteWebhook(ctx, &bot.DeleteWebhookParams{}); err != nil {
		return p.api.failure("deleteWebhook", err)
	}
	return nil
}

// step handles one batch: fetch, accept, move the offset.
func (p *poller) step(ctx context.Context) error {
	began, waits := time.Now(), p.proven
	updates, err := p.fetch(ctx)
	p.proven = err == nil
	if err != nil {
		f := adapters.AsFailure(err)
		if f.Kind == adapters.Transient && !f.Certain {
			p.api.client.closeIdle() // the connection may be the one that went deaf
		}
		if waits && f.RetryAfter == conflictPause {
			f.RetryAfter = 0 // a replica that was frozen may send one more call before it sees that it lost the account
		}
		return err
	}
	p.state.answered(len(updates))
	if len(updates) == 0 {
		return p.rest(ctx, began, waits)
	}
	self, err := p.bot.whoami(ctx)
	if err != nil {
		return err
	}
	// Confirming one update confirms all before it, so those must be accepted first.
	slices.SortFunc(updates, func(x, y update) int { return cmp.Compare(x.ID, y.ID) })
	faultpoint.Hit(faultpoint.PollBeforeAccept)
	failed, err := p.intake.acceptBatch(ctx, p.in, updates, self)
	p.advance(updates, failed)
	if err != nil {
		return &adapters.Failure{Kind: adapters.Transient, Err: err}
	}
	got := batch{updates[0].ID, updates[len(updates)-1].ID, len(updates)}
	again := got == p.last
	p.last = got
	return p.rest(ctx, began, again)
}

// rest waits for the minimum time after a call without news: a server that answers at once and empty, or always the
// same, must not be polled as fast as it answers.
func (p *poller) rest(ctx context.Context, began time.Time, vain bool) error {
	if took := time.Since(began); vain && took < p.cfg.PollFloor {
		_ = pause.Wait(ctx, p.cfg.PollFloor-took)
	}
	return ctx.Err()
}

// advance moves the offset after the batch, or to its first update that was not accepted; failed is 0 if all were.
// Only the batch counts: Telegram's ids fall after a week without updates, and an offset far ahead of them confirms
// nothing.
func (p *poller) advance(updates []update, failed int64) {
	p.offset = updates[len(updates)-1].ID + 1
	if failed != 0 {
		p.offset = failed
	}
}

func (p *poller) fetch(ctx context.Context) ([]update, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.PollTimeout+p.cfg.PollSlack)
	defer cancel()
	params := getUpdatesParams{Offset: p.offset, Limit: pollLimit, AllowedUpdates: allowedUpdates}
	if p.proven {
		params.Timeout = int(p.cfg.PollTimeout / time.Second)
	}
	if p.single {
		params.Limit = 1
	}
	var updates []update
	err := p.api.client.call(ctx, methodGetUpdates, params, &updates)
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		return p.salvage(ctx, unreadable)
	}
	if err != nil {
		return nil, p.api.failure(methodGetUpdates, err)
	}
	p.single = false
	if len(updates) == 0 {
		p.offset = 0 // all earlier updates are confirmed, and the next one may have a lower id
	}
	return updates, nil
}

// salvage reads a batch with broken updates one by one. If the whole batch is not JSON, the next call requests a
// single update, of which only the id is needed to skip it.
func (p *poller) salvage(ctx context.Context, unreadable *unreadableError) ([]update, error) {
	var raw []json.RawMessage
	if json.Unmarshal(unreadable.Answer, &envelope{Result: &raw}) != nil {
		return p.isolate(ctx, unreadable)
	}
	p.single = false
	updates := make([]update, 0, len(raw))
	for _, r := range raw {
		if u := p.intake.readUpdate(r); u.ID > 0 {
			updates = append(updates, u)
		}
	}
	return updates, nil
}

// readUpdate reads an update as far as possible. An unreadable update has only its id and is skipped.
func (k *intake) readUpdate(raw []byte) update {
	var u update
	unread, err := adapters.Decode(raw, &u)
	switch {
	case err != nil:
		k.malformed(raw, err)
		return update{ID: idOf(raw)}
	case unread == "":
		return u
	}
	if u.ID == 0 {
		u.ID = idOf(raw)
	}
	u.unread = unread
	k.metrics.update(k.cfg.Account, outcomePartial)
	k.cfg.Log.Warn("telegram update read in part: a field has an unexpected type", "field", unread, "update", excerpt(raw), "bytes", len(raw))
	return u
}

// excerpt returns the beginning of an update for the log.
func excerpt(raw []byte) string {
	const most = 2000
	return valid(string(raw[:min(len(raw), most)]))
}

func (p *poller) isolate(ctx context.Context, unreadable *unreadableError) ([]update, error) {
	id := idOf(unreadable.Answer)
	if id == 0 { // it does not come from Telegram itself: it must not confirm an update
		return nil, p.api.failure(methodGetUpdates, unreadable)
	}
	if !p.single {
		p.single = true
		return p.fetch(ctx)
	}
	p.intake.malformed(unreadable.Answer, unreadable.Err)
	p.single = false
	return []update{{ID: id}}, nil
}

var updateID = pattern.New(`"update_id"\s*:\s*(\d{1,18})`)

// idOf finds the update id in a text that is not JSON. It returns 0 if the text has no update id.
func idOf(raw []byte) int64 {
	found := updateID.Regexp().FindSubmatch(raw)
	if found == nil {
		return 0
	}
	id, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// malformed reports an unreadable update before it is skipped.
func (k *intake) malformed(raw []byte, why error) {
	k.metrics.update(k.cfg.Account, outcomeMalformed)
	k.cfg.Log.Error("malformed telegram update skipped", "error", why, "update", excerpt(raw), "bytes", len(raw))
}
