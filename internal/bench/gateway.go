package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/chaos/child"
	"sluice/internal/freeport"
	"sluice/internal/pause"
)

const (
	readyWithin = 2 * time.Minute
	exitWithin  = 15 * time.Second
	settleFor   = 3 * time.Second // after a start, before memory is measured
)

// gateway is a gateway with its Telegram server.
type gateway struct {
	fake    *telegramtest.Server
	config  child.Config
	process *child.Process
	binary  string

	answered atomic.Pointer[func(chat int64)]
}

// gatewayParams describe a gateway.
type gatewayParams struct {
	state    string
	store    string // URL; empty for SQLite in state
	model    string
	modelURL string
}

var lives atomic.Int64

// newState names a folder for one gateway.
func (b *bench) newState() string {
	return filepath.Join(b.dir, "state"+strconv.FormatInt(lives.Add(1), 10))
}

// newGateway creates a Telegram server and the configuration of a gateway; nothing runs yet.
func (b *bench) newGateway(p gatewayParams) (*gateway, error) {
	g := &gateway{binary: b.binary}
	nobody := func(int64) {}
	g.answered.Store(&nobody)
	var err error
	g.fake, err = telegramtest.NewServer(telegramtest.Options{
		Forget: true,
		OnSent: func(m telegramtest.Message) { (*g.answered.Load())(m.Chat) },
	})
	if err != nil {
		return nil, err
	}
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	g.config = child.Config{
		State: p.state, Listen: addr, Channels: child.Telegram(g.fake.URL(), telegramtest.DefaultToken),
		Model: p.model, ModelURL: p.modelURL, QueueMode: "followup", StoreURL: p.store,
	}
	if g.config.State == "" {
		g.config.State = b.newState()
	}
	return g, nil
}

// start runs the gateway and returns the time until it was ready.
func (g *gateway) start(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	began := time.Now()
	var err error
	if g.process, err = child.Start(g.binary, g.config); err != nil {
		return 0, err
	}
	if err := g.process.WaitReady(ctx); err != nil {
		g.process.Kill()
		return 0, fmt.Errorf("%w\n%s", err, g.log())
	}
	return time.Since(began), nil
}

// log returns the end of the gateway's log.
func (g *gateway) log() []byte {
	log, err := os.ReadFile(g.config.LogPath())
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-3000):]
}

// stop ends the gateway in an orderly way; the Telegram server stays.
func (g *gateway) stop() error {
	code, err := g.process.Terminate(exitWithin)
	if err == nil && code != 0 {
		err = fmt.Errorf("the gateway ended with code %d\n%s", code, g.log())
	}
	return err
}

// close ends everything.
func (g *gateway) close() {
	if g.process != nil {
		g.process.Kill()
	}
	g.fake.Close()
}

// onAnswer sets the function that is called for each message of the gateway. It must be quick.
func (g *gateway) onAnswer(f func(chat int64)) { g.answered.Store(&f) }

// say sends a person's message to the bot.
func (g *gateway) say(person int64, text string) {
	g.fake.Say(telegramtest.Private(person), telegramtest.User{ID: person, FirstName: "Person"}, text)
}

// memory returns the gateway's resident set in MB after it has settled.
func (g *gateway) memory(ctx context.Context) (float64, error) {
	if err := pause.Wait(ctx, settleFor); err != nil {
		return 0, err
	}
	bytes, err := residentMemory(g.process.Pid())
	return bytes / 1e6, err
}
