package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/pause"
)

const (
	fairBlocks = 5                     // alone and beside the flood in turn, so that noise of the machine is in both
	quietAsks  = 100                   // questions of the quiet person in each block
	quietEvery = 20 * time.Millisecond // the pause after each answer
	floodEvery = 50 * time.Millisecond // a message of a flood
	floodRest  = time.Second           // until the last messages of a flood are answered
	floodMax   = 1_000_000             // messages of a flood in one block
)

// floods are what one source sends without waiting for answers.
var floods = []struct {
	name string
	send func(g *gateway, i int)
}{
	{"one stranger", func(g *gateway, i int) { g.say(firstPerson+1, question+strconv.Itoa(i)) }},
	{"one group", func(g *gateway, i int) {
		speaker := int64(firstPerson + 10 + i%20)
		g.fake.Say(telegramtest.Group(-500, "flood"), telegramtest.User{ID: speaker, FirstName: "Person"}, "@test0_bot "+question+strconv.Itoa(i))
	}},
	{"one agent, in 100 chats", func(g *gateway, i int) { g.say(int64(firstPerson+100+i%100), question+strconv.Itoa(i)) }},
}

// measureFair measures how long a quiet person waits, alone and beside somebody who sends 20 messages a second.
func measureFair(ctx context.Context, b *bench) error {
	for _, flood := range floods {
		var alone, beside, ratios []float64
		for range b.rounds {
			before, during, err := b.beside(ctx, flood.send)
			if err != nil {
				return err
			}
			alone, beside = append(alone, inMilliseconds(before)), append(beside, inMilliseconds(during))
			ratios = append(ratios, float64(during)/float64(before))
		}
		name := "SQLite, model over HTTP: a quiet person's answer, p99, "
		b.report.add(name+"alone", "", milliseconds, alone...)
		b.report.add(name+"beside 20 messages/s of "+flood.name, "", milliseconds, beside...)
		b.report.add(name+"beside "+flood.name+" / alone", "≤ 2", ratio, ratios...)
	}
	return nil
}

// beside returns the quiet person's p99 alone and beside a flood.
func (b *bench) beside(ctx context.Context, send func(*gateway, int)) (alone, during time.Duration, err error) {
	m, err := newHTTPModel()
	if err != nil {
		return 0, 0, err
	}
	defer m.close()
	g, err := b.newGateway(gatewayParams{model: overHTTP, modelURL: m.url})
	if err != nil {
		return 0, 0, err
	}
	defer g.close()
	g.config.Channels += "    groupPolicy: open\n"
	if _, err := g.start(ctx); err != nil {
		return 0, 0, err
	}
	if _, err := g.quiet(ctx, quietAsks/10); err != nil { // warm
		return 0, 0, err
	}
	var before, beside []time.Duration
	for block := range fairBlocks {
		some, err := g.quiet(ctx, quietAsks)
		if err != nil {
			return 0, 0, err
		}
		before = append(before, some...)
		if some, err = g.quietBeside(ctx, func(i int) { send(g, block*floodMax+i) }); err != nil {
			return 0, 0, err
		}
		beside = append(beside, some...)
	}
	slices.Sort(before)
	slices.Sort(beside)
	return quantile(before, 0.99), quantile(beside, 0.99), nil
}

// quietBeside lets the quiet person ask while somebody else floods the gateway, and waits until the flood is over.
func (g *gateway) quietBeside(ctx context.Context, send func(i int)) ([]time.Duration, error) {
	flooding, stop := context.WithCancel(ctx)
	defer stop()
	var flood sync.WaitGroup
	flood.Go(func() {
		ticker := time.NewTicker(floodEvery)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C:
				send(i)
			case <-flooding.Done():
				return
			}
		}
	})
	times, err := g.quiet(ctx, quietAsks)
	stop()
	flood.Wait()
	if err == nil {
		err = pause.Wait(ctx, floodRest)
	}
	return times, err
}

// quiet lets one person ask again and again, with pauses, and returns the times until the answers.
func (g *gateway) quiet(ctx context.Context, n int) ([]time.Duration, error) {
	return g.oneByOne(ctx, firstPerson, n, quietEvery)
}
