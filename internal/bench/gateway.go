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

// audience is the Telegram server with the people.
type audience struct {
	fake     *telegramtest.Server
	bots     []*telegramtest.Bot // each person writes to one of them
	answered atomic.Pointer[func(chat int64)]
}

// newAudience starts a Telegram server with a bot for each token.
func newAudience(tokens ...string) (*audience, error) {
	a := &audience{}
	a.onAnswer(func(int64) {})
	var err error
	a.fake, err = telegramtest.NewServer(telegramtest.Options{
		Tokens: tokens, Forget: true,
		OnSent: func(m telegramtest.Message) { (*a.answered.Load())(m.Chat) },
	})
	if err != nil {
		return nil, err
	}
	for _, token := range tokens {
		a.bots = append(a.bots, a.fake.BotFor(token))
	}
	return a, nil
}

// gateway is a gateway with its Telegram server.
type gateway struct {
	*audience
	config  child.Config
	process *child.Process
	binary  string
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
	people, err := newAudience(telegramtest.DefaultToken)
	if err != nil {
		return nil, err
	}
	g := &gateway{audience: people, binary: b.binary}
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
func (g *gateway) log() []byte { return logEnd(g.config) }

// logEnd returns the end of the log of a gateway with this configuration.
func logEnd(config child.Config) []byte {
	log, err := os.ReadFile(config.LogPath())
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
func (a *audience) onAnswer(f func(chat int64)) { a.answered.Store(&f) }

// say sends a person's message to their bot.
func (a *audience) say(person int64, text string) {
	bot := a.bots[int(person)%len(a.bots)]
	bot.Say(telegramtest.Private(person), telegramtest.User{ID: person, FirstName: "Person"}, text)
}

// memory returns the gateway's resident set in MB after it has settled.
func (g *gateway) memory(ctx context.Context) (float64, error) {
	if err := pause.Wait(ctx, settleFor); err != nil {
		return 0, err
	}
	bytes, err := residentMemory(g.process.Pid())
	return bytes / 1e6, err
}
