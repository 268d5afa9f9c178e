package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sluice/internal/pause"
)

// databaseFile is the embedded database's file in the state folder.
const databaseFile = "sluice.db"

// measureStored measures SQLite and PostgreSQL with stored conversations.
func measureStored(ctx context.Context, b *bench) (err error) {
	state := b.newState()
	preload := func() error { return preloadSQLite(ctx, filepath.Join(state, databaseFile), b.people()) }
	if err := b.measurePast(ctx, "SQLite", gatewayParams{model: instant, state: state}, preload); err != nil {
		return err
	}
	cluster, err := startPostgres(ctx, filepath.Join(b.dir, "pgstored"))
	if errors.Is(err, errNoPostgres) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	url, err := cluster.create(ctx, "past")
	if err != nil {
		return err
	}
	preload = func() error { return preloadPostgres(ctx, url, b.people()) }
	return b.measurePast(ctx, "PostgreSQL", gatewayParams{model: instant, store: url}, preload)
}

// people returns how many people have stored conversations, so that their messages add up to the requested number.
func (b *bench) people() int { return max(b.stored, b.messages/(2*turns)) }

// measurePast records one real conversation, copies it, and measures a gateway on that database.
func (b *bench) measurePast(ctx context.Context, store string, p gatewayParams, preload func() error) error {
	g, err := b.newGateway(p)
	if err != nil {
		return err
	}
	defer g.close()
	if _, err := g.start(ctx); err != nil {
		return err
	}
	if _, err := g.oneByOne(ctx, modelPerson, turns, 0); err != nil {
		return err
	}
	if err := pause.Wait(ctx, settleFor); err != nil {
		return err
	}
	if err := g.stop(); err != nil {
		return err
	}
	if err := preload(); err != nil {
		return err
	}
	var s series
	for range b.rounds {
		if err := b.pastRound(ctx, g, &s); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s with %d sessions, %d messages stored: ", store, b.people(), b.people()*2*turns)
	s.addTo(&b.report, store, name)
	return b.measureLists(ctx, g, name)
}

// pastRound measures a gateway while known people ask again.
func (b *bench) pastRound(ctx context.Context, g *gateway, s *series) error {
	took, err := g.start(ctx)
	if err != nil {
		return err
	}
	s.again = append(s.again, inMilliseconds(took))
	memory, err := g.memory(ctx)
	if err != nil {
		return err
	}
	s.memory = append(s.memory, memory)
	b.pastUsed += chats + 1
	if err := b.converse(ctx, g, s, pastPerson+int64(b.pastUsed)); err != nil {
		return err
	}
	return g.stop()
}
