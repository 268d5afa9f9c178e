package discord

import (
	"cmp"
	"context"
	"fmt"

	"sluice/adapters"
	"sluice/internal/pause"
)

// onReady begins a new session. In each channel, the messages since the last session are fetched before new ones are handled.
func (s *shard) onReady(ctx context.Context, c *connection, f frame) error {
	var r ready
	if _, err := s.messages.decode(f.Type, f.Data, &r); err != nil || r.SessionID == "" || r.User == nil {
		return fmt.Errorf("read READY: no session in it (%w)", cmp.Or(err, errInvalid))
	}
	s.bot.know(r.User)
	at := newPosition(r.SessionID, r.ResumeURL, f.Seq, s.moved)
	channels := s.inbox.cursors.channels()
	at.behind = len(channels)
	s.at.Store(at)
	s.save(ctx)
	s.established("identified")
	for _, channelID := range channels {
		catchUp := func(ctx context.Context) {
			if s.catchUp(ctx, channelID) {
				at.caughtUp()
			}
		}
		if err := s.queue(c, channelID, catchUp); err != nil {
			return err
		}
	}
	return nil
}

// established notes that the connection has its session.
func (s *shard) established(how string) {
	s.ready = true
	s.metrics.session(s.cfg.Account, how)
	s.state.shard(s.id, adapters.Connected, "")
	s.cfg.Log.Info("discord gateway connected", "shard", s.id, "shards", s.of, "how", how)
}

// keep saves the session's position when it changes, until ctx ends.
func (s *shard) keep(ctx context.Context) error {
	for {
		select {
		case <-s.moved:
			s.save(ctx)
		case <-ctx.Done():
			return nil
		}
		if !pause.Whole(ctx, s.cfg.pace.saveSession) {
			return nil
		}
	}
}

// save stores the session's position for the next process. Without it, that process begins a new session and fetches the
// missed messages.
func (s *shard) save(ctx context.Context) {
	if s.cfg.Cursors == nil {
		return
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	text := s.position().String()
	if text == s.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := s.cfg.Cursors.Save(ctx, s.name, text); err != nil {
		s.cfg.Log.Warn("could not save the position of a discord session", "shard", s.id, "error", err)
		return
	}
	s.saved = text
}
