package telegramtest

import (
	"context"
	"time"
)

// maxBatch is the most updates that one getUpdates gives.
const maxBatch = 100

// poll is one getUpdates call that is waiting.
type poll struct {
	wake chan struct{} // capacity 1
	end  *apiError     // set before wake when the poll must end; guarded by srv.mu
}

func (p *poll) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // it is awake already
	}
}

// interruptPoll ends the waiting getUpdates, if any; srv.mu is held.
func (b *Bot) interruptPoll(with *apiError) {
	if b.poll != nil {
		b.poll.end = with
		b.poll.signal()
		b.poll = nil
	}
}

func (b *Bot) getUpdates(ctx context.Context, req *request) ([]byte, *apiError) {
	p := &poll{wake: make(chan struct{}, 1)}
	if err := b.startPoll(p, req.Offset, req.AllowedUpdates); err != nil {
		return nil, err
	}
	defer b.endPoll(p)
	timer := time.NewTimer(time.Duration(req.Timeout) * time.Second)
	defer timer.Stop()
	for {
		batch, err := b.batch(p, req.Limit)
		if batch != nil || err != nil {
			return batch, err
		}
		select {
		case <-p.wake:
		case <-timer.C:
			return []byte("[]"), nil
		case <-ctx.Done():
			return []byte("[]"), nil
		case <-b.srv.closing.Done():
			return []byte("[]"), nil
		}
	}
}

func (b *Bot) startPoll(p *poll, offset int64, allowed []string) *apiError {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if b.webhook.url != "" {
		return &apiError{
			Code:        409,
			Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
		}
	}
	if b.poll != nil {
		b.rivals++
	}
	b.interruptPoll(&apiError{
		Code:        409,
		Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
	})
	b.poll = p
	b.allowed = allowed
	b.confirm(offset)
	return nil
}

// Polling reports whether a getUpdates is waiting.
func (b *Bot) Polling() bool {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.poll != nil
}

// Rivals is how many calls of getUpdates have cut off another one.
func (b *Bot) Rivals() int {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.rivals
}

func (b *Bot) endPoll(p *poll) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if b.poll == p {
		b.poll = nil
	}
}

// farAhead is how far beyond the next update's id an offset may be. Telegram's server takes one beyond that for a mistake: it
// confirms nothing, and answers from the beginning of its queue.
const farAhead = 10

// confirm forgets the updates below offset; a negative one keeps only that many. srv.mu is held.
func (b *Bot) confirm(offset int64) {
	if offset < 0 {
		b.queue = b.queue[max(0, len(b.queue)+int(offset)):]
		return
	}
	if offset > b.nextUpdate+farAhead {
		return
	}
	kept := b.queue[:0]
	for _, u := range b.queue {
		if u.id >= offset || u.again {
			kept = append(kept, u)
		}
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	b.srv.notify()
}

// batch is the pending updates as a JSON array, or nil for none.
func (b *Bot) batch(p *poll, limit int) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if p.end != nil {
		return nil, p.end
	}
	if len(b.queue) == 0 {
		return nil, nil
	}
	if limit <= 0 || limit > maxBatch {
		limit = maxBatch
	}
	n := min(limit, len(b.queue))
	size := n + 2
	for _, u := range b.queue[:n] {
		size += len(u.json)
	}
	out := append(make([]byte, 0, size), '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b.queue[i].json...)
		b.queue[i].again = false
	}
	return append(out, ']'), nil
}
