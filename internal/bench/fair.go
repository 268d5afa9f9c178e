package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"sluice/adapters/telegram/telegramtest"
)

const (
	quietAsks  = 200                   // questions of the quiet person, alone and beside each flood
	quietEvery = 20 * time.Millisecond // the pause after each answer
	floodEvery = 50 * time.Millisecond // a message of a flood
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
	if alone, err = g.quiet(ctx, quietAsks); err != nil {
		return 0, 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	flood.Go(func() {
		ticker := time.NewTicker(floodEvery)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C:
				send(g, i)
			case <-ctx.Done():
				return
			}
		}
	})
	during, err = g.quiet(ctx, quietAsks)
	stop()
	flood.Wait()
	return alone, during, err
}

// quiet lets one person ask again and again, with pauses, and returns the p99 of the times until the answers.
func (g *gateway) quiet(ctx context.Context, n int) (time.Duration, error) {
	times, err := g.oneByOne(ctx, firstPerson, n, quietEvery)
	if err != nil {
		return 0, err
	}
	return quantile(times, 0.99), nil
}
