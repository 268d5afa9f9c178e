package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/pause"
	"sluice/sessions"
	"sluice/sessions/port"
)

const (
	tries      = 2 // attempts with the same key
	retryPause = 500 * time.Millisecond
	patient    = 5 * time.Second // a longer Retry-After moves on to the next key
)

// walk is one completion of a chain that has several ways.
type walk struct {
	chain   *Chain
	req     sessions.Request
	on      func(sessions.Chunk)
	counted int    // about how many tokens the prompt has
	said    bool   // an attempt has streamed text that was not discarded
	asked   string // the model that was asked last; empty before the first call
	failed  error  // why there is no answer yet: the failure that says most
}

// way is an attempt that may be made.
type way struct {
	at    int // of its model in the chain
	entry *Entry
	link  *Link
}

// verdict says how the walk goes on after an attempt.
type verdict int

const (
	end verdict = iota // with an answer, or with a failure that no other model would change
	nextKey
	nextModel
)

// complete makes the attempts in their order.
func (w *walk) complete(ctx context.Context) (sessions.Completion, error) {
	ways, err := w.ways()
	if err != nil {
		return sessions.Completion{}, err
	}
	var skipped *Entry // its keys change nothing
	var busy *way      // the first one at its limit
	for i := range ways {
		way := &ways[i]
		if way.entry == skipped {
			continue
		}
		if s := w.chain.cfg.Board.Standing(ctx, way.link.Place(), way.link.Mark); !s.May {
			w.note(paused(way.entry, s.State, w.chain.cfg.Now()))
			continue
		}
		if !way.link.Limiter.try(w.counted) {
			w.chain.cfg.Board.Released(way.link.Place())
			if busy == nil {
				busy = way
			}
			continue
		}
		switch completion, verdict, err := w.attempt(ctx, way); verdict {
		case end:
			return completion, err
		case nextModel:
			skipped = way.entry
		}
	}
	if busy != nil && w.asked == "" { // all that work are at their limits
		if err := busy.link.Limiter.acquire(ctx, w.counted); err != nil {
			return sessions.Completion{}, ended(busy.entry, err)
		}
		if completion, verdict, err := w.attempt(ctx, busy); verdict == end {
			return completion, err
		}
	}
	return sessions.Completion{}, w.failed
}

// ways are the attempts that may be made, in their order. The turn begins with the model that has answered last in it.
func (w *walk) ways() ([]way, error) {
	entries, err := w.usable()
	if err != nil {
		return nil, err
	}
	first := int(w.chain.turn.Load())
	ways := make([]way, 0, 2*len(entries))
	for i := range entries {
		at := (first + i) % len(entries)
		if entries[at] == nil {
			continue
		}
		for _, l := range entries[at].Links {
			ways = append(ways, way{at, entries[at], l})
		}
	}
	return ways, nil
}

// usable are the models of the chain that may see the request and can take it; nil stands for the others.
func (w *walk) usable() ([]*Entry, error) {
	all := w.chain.entries
	entries, ok := keep(all, func(e *Entry) bool { return mayTell(w.req.Label, e) })
	if !ok {
		return nil, levelError(all)
	}
	need := needs(&w.req)
	able, ok := keep(entries, func(e *Entry) bool { return need&e.Can.Lacks&Tools == 0 })
	if !ok {
		return nil, unable(first(entries), Tools)
	}
	fitting, ok := keep(able, func(e *Entry) bool { return e.Can.Window == 0 || w.counted+w.req.MaxTokens <= e.Can.Window })
	if !ok {
		return nil, &sessions.ModelError{Kind: sessions.ModelOverflow, Model: first(able).Name, Err: fmt.Errorf("the prompt has about %d tokens, more than any model of the chain takes", w.counted)}
	}
	if seeing, ok := keep(fitting, func(e *Entry) bool { return need&e.Can.Lacks&Pictures == 0 }); ok {
		return seeing, nil
	}
	return fitting, nil // they get pictures described in words
}

// keep are the entries that match, at their places; false if no entry matches.
func keep(entries []*Entry, match func(*Entry) bool) (kept []*Entry, some bool) {
	kept = make([]*Entry, len(entries))
	for i, e := range entries {
		if e != nil && match(e) {
			kept[i], some = e, true
		}
	}
	return kept, some
}

func first(entries []*Entry) *Entry {
	for _, e := range entries {
		if e != nil {
			return e
		}
	}
	return nil
}

// attempt asks a model with one key. The caller has begun the call at the key's limiter.
func (w *walk) attempt(ctx context.Context, way *way) (sessions.Completion, verdict, error) {
	w.moved(way.entry)
	completion, err := w.askWithin(ctx, way)
	w.chain.learn(ctx, way.link, err)
	if err == nil {
		w.chain.turn.Store(int32(way.at))
		completion.Model = way.entry.Name
		return completion, end, nil
	}
	verdict := judge(ctx, err)
	if verdict != end {
		w.note(err)
		w.chain.cfg.Log.Warn("model failed; the next one is asked", "model", way.entry.Name, "key", way.link.Key, "err", err)
	}
	return completion, verdict, err
}

// askWithin asks, and then ends the call at the key's limiter, also if the client panics.
func (w *walk) askWithin(ctx context.Context, way *way) (completion sessions.Completion, err error) {
	defer func() { way.link.Limiter.done(w.counted, used(&completion)) }()
	return w.ask(ctx, way)
}

// judge says how the walk goes on after a failure.
func judge(ctx context.Context, err error) verdict {
	if refused, ok := errors.AsType[*Refused](err); ok {
		if refused.Cheaper {
			return nextModel
		}
		return end
	}
	me, ok := errors.AsType[*sessions.ModelError](err)
	switch {
	case !ok, ctx.Err() != nil, !Moves(me.Kind):
		return end
	case me.Kind == port.ModelMissing, me.Kind == port.ModelLoading: // another key would not help
		return nextModel
	}
	return nextKey
}

// ask asks a model with one key, and once more if that may help soon.
func (w *walk) ask(ctx context.Context, way *way) (sessions.Completion, error) {
	request := w.chain.fit(way.entry, &w.req)
	loading := w.chain.patienceOf(way.entry)
	for try := 1; ; {
		w.void()
		completion, err := way.link.Ask.Complete(ctx, request, w.pass)
		if err == nil || ctx.Err() != nil {
			return completion, err
		}
		if loading.again(ctx, err) {
			continue
		}
		wait, again := w.repeats(err, try)
		if !again || pause.Wait(ctx, wait) != nil {
			return completion, err
		}
		try++
	}
}

// repeats says whether, and when, the same attempt may succeed.
func (w *walk) repeats(err error, try int) (wait time.Duration, again bool) {
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || !me.Retryable() || me.Kind == port.ModelLoading || try >= tries || me.RetryAfter > patient {
		return 0, false
	}
	if me.Kind == sessions.ModelRateLimited && me.RetryAfter == 0 {
		return 0, false // the provider does not say when
	}
	return max(cmp.Or(w.chain.cfg.Pause, retryPause), me.RetryAfter), true
}

// pass passes a chunk on.
func (w *walk) pass(c sessions.Chunk) {
	w.said = true
	w.on(c)
}

// void tells the reader to discard what was streamed so far.
func (w *walk) void() {
	if w.said {
		w.said = false
		w.on(sessions.Chunk{Void: true})
	}
}

// moved counts that another model is asked than before.
func (w *walk) moved(to *Entry) {
	if w.asked != "" && w.asked != to.Name && w.chain.cfg.Moved != nil {
		w.chain.cfg.Moved(w.asked, to.Name)
	}
	w.asked = to.Name
}

// note keeps the failure that says most: one that passes by itself before one that does not, and of those that pass, the
// shortest time to wait.
func (w *walk) note(err error) {
	now, ok := errors.AsType[*sessions.ModelError](err)
	was, had := errors.AsType[*sessions.ModelError](w.failed)
	switch {
	case w.failed == nil, !had:
		w.failed = err
	case ok && now.Retryable() && (!was.Retryable() || now.RetryAfter < was.RetryAfter):
		w.failed = err
	}
}
