package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/internal/pause"
)

// started returns a new running gateway with one of the two models that answer at once, warmed up by one person's
// questions.
func (b *bench) started(ctx context.Context, model string) (g *gateway, end func(), err error) {
	p := gatewayParams{model: model}
	end = func() {}
	if model == overHTTP {
		m, err := newHTTPModel()
		if err != nil {
			return nil, nil, err
		}
		p.modelURL, end = m.url, m.close
	}
	if g, err = b.newGateway(p); err != nil {
		end()
		return nil, nil, err
	}
	endModel := end
	end = func() { g.close(); endModel() }
	if _, err = g.start(ctx); err == nil {
		_, err = g.oneByOne(ctx, firstPerson, sequential/10, 0)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return g, end, nil
}

// modelNames are the two models as the rows name them.
var modelNames = []struct{ model, words string }{{instant, "model inside"}, {overHTTP, "model over HTTP"}}

// measureHTTP measures a gateway whose model answers over HTTP and gets all tools.
func measureHTTP(ctx context.Context, b *bench) error {
	var s series
	for range b.rounds {
		g, end, err := b.started(ctx, overHTTP)
		if err != nil {
			return err
		}
		err = b.converse(ctx, g, &s, firstPerson)
		end()
		if err != nil {
			return err
		}
	}
	s.addAnswersTo(&b.report, "SQLite", "SQLite, model over HTTP: ", "≤ 1 ms")
	return nil
}

const (
	alone    = 40                     // messages that come alone
	aloneGap = 250 * time.Millisecond // the pause between two messages
	aloneFor = alone * aloneGap
)

// measureAlone measures messages so far apart that each finds the gateway idle. What the gateway uses in the same
// time without messages is subtracted.
func measureAlone(ctx context.Context, b *bench) error {
	for _, m := range modelNames {
		var idle, each []float64
		for range b.rounds {
			g, end, err := b.started(ctx, m.model)
			if err != nil {
				return err
			}
			rested, used, err := g.alone(ctx)
			end()
			if err != nil {
				return err
			}
			idle = append(idle, inMilliseconds(rested)/aloneFor.Seconds())
			each = append(each, inMilliseconds(used-rested)/alone)
		}
		b.report.add("SQLite, "+m.words+": one message each "+aloneGap.String()+", processor time a message", "≤ 3 ms", milliseconds, each...)
		b.report.add("SQLite, "+m.words+": no messages, processor time a second", "", milliseconds, idle...)
	}
	return nil
}

// alone returns the gateway's processor time without messages and with single messages, for equally long.
func (g *gateway) alone(ctx context.Context) (rested, used time.Duration, err error) {
	if err := pause.Wait(ctx, settleFor); err != nil {
		return 0, 0, err
	}
	rested, err = g.uses(func() error { return pause.Wait(ctx, aloneFor) })
	if err != nil {
		return 0, 0, err
	}
	used, err = g.uses(func() error {
		next := time.NewTicker(aloneGap)
		defer next.Stop()
		for i := range alone {
			if _, err := g.oneByOne(ctx, firstPerson+int64(i%10), 1, 0); err != nil {
				return err
			}
			select {
			case <-next.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return rested, used, err
}

// uses returns the gateway's processor time during happens.
func (g *gateway) uses(happens func() error) (time.Duration, error) {
	before, err := processorTime(g.process.Pid())
	if err != nil {
		return 0, err
	}
	if err := happens(); err != nil {
		return 0, err
	}
	after, err := processorTime(g.process.Pid())
	return after - before, err
}

// measureLanes measures how the number of concurrent chats changes the cost of a message.
func measureLanes(ctx context.Context, b *bench) error {
	for _, people := range []int{8, 64, 1000} {
		var rate, processor []float64
		for range b.rounds {
			g, end, err := b.started(ctx, instant)
			if err != nil {
				return err
			}
			result, err := g.load(ctx, firstPerson+1, people, b.load)
			end()
			if err != nil {
				return err
			}
			rate, processor = append(rate, result.rate), append(processor, result.processor)
		}
		name := fmt.Sprintf("SQLite, %d chats at once: ", people)
		b.report.add(name+"messages", "", perSecond, rate...)
		b.report.add(name+"processor time a message", "", milliseconds, processor...)
	}
	return nil
}

const (
	talkers   = 10 // people with a long conversation each
	earlyTurn = 20
	lateTurn  = 600
	around    = 10 // measured turns on either side of it
)

// measureLong compares an early turn of a conversation with a late one. The model gets the whole conversation each
// time.
func measureLong(ctx context.Context, b *bench) error {
	for _, m := range modelNames {
		var early, late, grown []float64
		for range b.rounds {
			g, end, err := b.started(ctx, m.model)
			if err != nil {
				return err
			}
			before, after, err := g.longTalks(ctx)
			end()
			if err != nil {
				return err
			}
			early, late, grown = append(early, before), append(late, after), append(grown, after/before)
		}
		name := "SQLite, " + m.words + ": "
		b.report.add(fmt.Sprintf("%sturn %d of a conversation, processor time", name, earlyTurn), "", milliseconds, early...)
		b.report.add(fmt.Sprintf("%sturn %d of a conversation, processor time", name, lateTurn), "", milliseconds, late...)
		b.report.add(fmt.Sprintf("%sturn %d compared with turn %d", name, lateTurn, earlyTurn), "≤ 1.3", ratio, grown...)
	}
	return nil
}

// longTalks runs the talkers' turns in parallel and returns the processor time of an early turn and of a late one, in
// ms.
func (g *gateway) longTalks(ctx context.Context) (early, late float64, err error) {
	turn := 0
	until := func(last int) func() error {
		return func() error {
			for ; turn < last; turn++ {
				if err := g.everybodyAsks(ctx, turn); err != nil {
					return err
				}
			}
			return nil
		}
	}
	measured := func(middle int) (float64, error) {
		if err := until(middle - around)(); err != nil {
			return 0, err
		}
		used, err := g.uses(until(middle + around))
		return inMilliseconds(used) / (2 * around * talkers), err
	}
	if early, err = measured(earlyTurn); err != nil {
		return 0, 0, err
	}
	late, err = measured(lateTurn)
	return early, late, err
}

// everybodyAsks sends one question of each talker and waits for all answers.
func (g *gateway) everybodyAsks(ctx context.Context, turn int) error {
	var open atomic.Int64
	open.Store(talkers)
	all := make(chan struct{})
	g.onAnswer(func(int64) {
		if open.Add(-1) == 0 {
			close(all)
		}
	})
	for i := range int64(talkers) {
		g.say(firstPerson+1+i, question+strconv.Itoa(turn))
	}
	timer := time.NewTimer(answerWithin)
	defer timer.Stop()
	select {
	case <-all:
		return nil
	case <-timer.C:
		return errNoAnswer
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
