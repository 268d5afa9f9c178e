package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"sluice/internal/chaos/completions"
)

// instant is the model that answers at once.
const instant = "offline/guide"

// measureBinary measures the size of the binary.
func measureBinary(_ context.Context, b *bench) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return fmt.Errorf("look at binary: %w", err)
	}
	b.report.add("stripped binary", "≤ 75 MB", megabytes, float64(info.Size())/1e6)
	return nil
}

// series are the values of all rounds for one store.
type series struct {
	fresh, again, memory, p50, p99, rate, processor, after []float64
}

// addTo adds a store's values to the report, with a prefix for each row.
func (s *series) addTo(r *report, store, prefix string) {
	again := "start to ready"
	if len(s.fresh) > 0 {
		r.add(prefix+"start to ready, first time", "≤ 40 ms", milliseconds, s.fresh...)
		again += ", again"
	}
	r.add(prefix+again, "≤ 40 ms", milliseconds, s.again...)
	r.add(prefix+"memory, idle", "≤ 45 MB", megabytes, s.memory...)
	s.addAnswersTo(r, store, prefix, "≤ 0.7 ms")
}

// addAnswersTo adds the values for answers. The goal is for the processor time.
func (s *series) addAnswersTo(r *report, store, prefix, goal string) {
	r.add(prefix+"message in → answer out, p50", "≤ 3 ms", milliseconds, s.p50...)
	r.add(prefix+"message in → answer out, p99", "≤ 12 ms", milliseconds, s.p99...)
	r.add(prefix+throughput, goalRate(store), perSecond, s.rate...)
	r.add(prefix+"processor time a message", goal, milliseconds, s.processor...)
	r.add(prefix+"memory after the load", "", megabytes, s.after...)
}

const throughput = "messages through 200 chats"

// goalRate returns the rate that a store should reach.
func goalRate(store string) string {
	if store == "PostgreSQL" {
		return "≥ 1,200/s"
	}
	return "≥ 1,500/s"
}

// measureStore measures a gateway with an initially empty store.
func (b *bench) measureStore(ctx context.Context, name string, newStore func(context.Context) (string, error)) error {
	var s series
	for range b.rounds {
		url, err := newStore(ctx)
		if err != nil {
			return err
		}
		if err := b.round(ctx, &s, gatewayParams{store: url, model: instant}); err != nil {
			return err
		}
	}
	s.addTo(&b.report, name, name+": ")
	if disk := b.report.median(diskOne); disk > 0 {
		b.report.add(name+": messages for each synced write of the disk", "", ratio, b.report.median(name+": "+throughput)/disk)
	}
	return nil
}

// round runs one gateway: it starts it, asks one by one, applies load, and starts it again.
func (b *bench) round(ctx context.Context, s *series, p gatewayParams) error {
	g, err := b.newGateway(p)
	if err != nil {
		return err
	}
	defer g.close()
	took, err := g.start(ctx)
	if err != nil {
		return err
	}
	s.fresh = append(s.fresh, inMilliseconds(took))
	memory, err := g.memory(ctx)
	if err != nil {
		return err
	}
	s.memory = append(s.memory, memory)
	if err := b.converse(ctx, g, s, firstPerson); err != nil {
		return err
	}
	if err := g.stop(); err != nil {
		return err
	}
	if took, err = g.start(ctx); err != nil {
		return err
	}
	s.again = append(s.again, inMilliseconds(took))
	return g.stop()
}

// converse measures answers, first to one person, then to many, whose ids start at first.
func (b *bench) converse(ctx context.Context, g *gateway, s *series, first int64) error {
	if _, err := g.oneByOne(ctx, first, sequential/10, 0); err != nil { // warm-up
		return err
	}
	times, err := g.oneByOne(ctx, first, sequential, 0)
	if err != nil {
		return err
	}
	s.p50 = append(s.p50, inMilliseconds(quantile(times, 0.5)))
	s.p99 = append(s.p99, inMilliseconds(quantile(times, 0.99)))
	result, err := g.load(ctx, first+1, chats, b.load)
	if err != nil {
		return err
	}
	s.rate = append(s.rate, result.rate)
	s.processor = append(s.processor, result.processor)
	memory, err := g.memory(ctx)
	s.after = append(s.after, memory)
	return err
}

// thinks is how long the slow model is silent; within it, every session must have asked.
const thinks = 2 * time.Minute

// measureWaiting measures the memory of sessions that wait for a model's first token over HTTP.
func measureWaiting(ctx context.Context, b *bench) error {
	model, err := completions.NewServer(completions.Options{Silence: thinks})
	if err != nil {
		return err
	}
	defer model.Close()
	g, err := b.newGateway(gatewayParams{model: "openai/slow", modelURL: model.OpenAIURL()})
	if err != nil {
		return err
	}
	defer g.close()
	if _, err := g.start(ctx); err != nil {
		return err
	}
	began := time.Now()
	for i := range int64(b.waiting) {
		g.say(firstPerson+i, question)
	}
	asking, cancel := context.WithTimeout(ctx, thinks)
	defer cancel()
	if err := model.AwaitWaiting(asking, b.waiting); err != nil {
		return err
	}
	b.report.add(fmt.Sprintf("%d sessions: until each has asked the model", b.waiting), "", seconds, time.Since(began).Seconds())
	memory, err := g.memory(ctx)
	b.report.add(fmt.Sprintf("%d sessions waiting for a slow model: memory", b.waiting), "≤ 450 MB", megabytes, memory)
	return err
}

func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }
