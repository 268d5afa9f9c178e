package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/pause"
)

// jobsYAML are jobs that each send a text to a chat of their own once a minute, as many in each second.
func jobsYAML(n int) string {
	var text strings.Builder
	text.WriteString("cron:\n  timezone: UTC\n  jobs:\n")
	for i := range n {
		fmt.Fprintf(&text, "    - { id: j%d, schedule: \"%d * * * * *\", text: Take a break., deliver: { to: [\"telegram:%d\"] } }\n", i, i%60, firstPerson+int64(i))
	}
	return text.String()
}

// lateness is how late each chat got the text of its job.
type lateness struct {
	mu    sync.Mutex
	times []time.Duration
}

func (l *lateness) arrived(chat int64) {
	now := time.Now().UTC()
	late := time.Duration(now.Second()-int(chat-firstPerson)%60)*time.Second + time.Duration(now.Nanosecond())
	if late < 0 {
		late += time.Minute
	}
	l.add(late)
}

func (l *lateness) add(late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, late)
}

// take gives the sorted times, and forgets them.
func (l *lateness) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.times
	l.times = nil
	slices.Sort(times)
	return times
}

// measureJobs measures a gateway with many jobs, each due once a minute.
func measureJobs(ctx context.Context, b *bench) error {
	g, err := b.newGateway(gatewayParams{model: instant})
	if err != nil {
		return err
	}
	defer g.close()
	g.config.Extra = jobsYAML(b.jobs)
	for i := range b.jobs {
		g.fake.Join(telegramtest.Private(firstPerson + int64(i)))
	}
	name := fmt.Sprintf("%d jobs, each once a minute: ", b.jobs)
	first, err := g.start(ctx)
	if err != nil {
		return err
	}
	var late lateness
	g.onAnswer(late.arrived)
	if err := pause.Wait(ctx, settleFor); err != nil {
		return err
	}
	late.take()
	began := time.Now()
	used, err := processorTime(g.process.Pid())
	if err != nil {
		return err
	}
	if err := pause.Wait(ctx, b.load); err != nil {
		return err
	}
	usedAfter, err := processorTime(g.process.Pid())
	if err != nil {
		return err
	}
	times := late.take()
	if len(times) == 0 {
		return errNoAnswer
	}
	b.report.add(name+"start to ready, first time", "", milliseconds, inMilliseconds(first))
	b.report.add(name+"texts", "", perSecond, float64(len(times))/time.Since(began).Seconds())
	b.report.add(name+"processor time a text", "", milliseconds, inMilliseconds(usedAfter-used)/float64(len(times)))
	b.report.add(name+"from the time of a job to the text in its chat, p50", "", milliseconds, inMilliseconds(quantile(times, 0.5)))
	b.report.add(name+"the latest text", "≤ 1 s", milliseconds, inMilliseconds(times[len(times)-1]))
	memory, err := residentMemory(g.process.Pid())
	if err != nil {
		return err
	}
	b.report.add(name+"memory", "", megabytes, memory/1e6)
	if err := g.stop(); err != nil {
		return err
	}
	again, err := g.start(ctx)
	if err != nil {
		return err
	}
	b.report.add(name+"start to ready, again", "", milliseconds, inMilliseconds(again))
	return g.stop()
}
