package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/pause"
)

// onCall is how many chats are told about alerts, each of those of one host.
const onCall = 100

// alertsYAML sends the alerts of each host to a chat of its own, at once.
func alertsYAML() string {
	var targets, routes, receivers strings.Builder
	for i := range onCall {
		fmt.Fprintf(&targets, "  t%d: { channel: telegram, to: \"%d\" }\n", i, firstPerson+i)
		fmt.Fprintf(&routes, "      - { matchers: ['host=\"%d\"'], receiver: r%d }\n", i, i)
		fmt.Fprintf(&receivers, "    - { name: r%d, targets: [t%d] }\n", i, i)
	}
	return "targets:\n" + targets.String() + "alerts:\n  route:\n    receiver: r0\n    group_by: [alertname]\n    group_wait: 1ms\n    routes:\n" + routes.String() +
		"  receivers:\n" + receivers.String() + "  budget: { perTarget: 10000/1h }\n"
}

// reported are the moments at which alerts of hosts were reported; a host's next alert comes after the message about the previous one.
type reported struct {
	mu    sync.Mutex
	at    [onCall]time.Time
	times lateness
}

func (r *reported) begin(host int) {
	r.mu.Lock()
	r.at[host] = time.Now()
	r.mu.Unlock()
}

func (r *reported) told(chat int64) {
	r.mu.Lock()
	began := r.at[chat-firstPerson]
	r.mu.Unlock()
	r.times.add(time.Since(began))
}

// measureAlerts reports alerts as Prometheus does, at a steady rate.
func measureAlerts(ctx context.Context, b *bench) error {
	g, err := b.newGateway(gatewayParams{model: instant})
	if err != nil {
		return err
	}
	defer g.close()
	g.config.Extra = alertsYAML()
	for i := range onCall {
		g.fake.Join(telegramtest.Private(firstPerson + int64(i)))
	}
	if _, err := g.start(ctx); err != nil {
		return err
	}
	var r reported
	g.onAnswer(r.told)
	if err := pause.Wait(ctx, settleFor); err != nil {
		return err
	}
	used, err := processorTime(g.process.Pid())
	if err != nil {
		return err
	}
	n := int(b.load.Minutes() * float64(b.alerts))
	next := time.Now()
	for i := range n {
		r.begin(i % onCall)
		alert := fmt.Sprintf(`[{"labels":{"alertname":"Disk%d","host":"%d","severity":"error"},"annotations":{"summary":"The disk is full"}}]`, i, i%onCall)
		if err := g.process.Report(ctx, alert); err != nil {
			return err
		}
		next = next.Add(time.Minute / time.Duration(b.alerts))
		if err := pause.Wait(ctx, time.Until(next)); err != nil {
			return err
		}
	}
	if err := pause.Wait(ctx, time.Second); err != nil { // the last messages
		return err
	}
	usedAfter, err := processorTime(g.process.Pid())
	if err != nil {
		return err
	}
	times := r.times.take()
	if len(times) < n {
		return fmt.Errorf("%w: %d of %d alerts were told of\n%s", errNoAnswer, len(times), n, g.log())
	}
	name := fmt.Sprintf("%d alerts a minute: ", b.alerts)
	b.report.add(name+"processor time an alert", "", milliseconds, inMilliseconds(usedAfter-used)/float64(n))
	b.report.add(name+"from the report to the message, p50", "", milliseconds, inMilliseconds(quantile(times, 0.5)))
	b.report.add(name+"the latest message", "≤ 1 s", milliseconds, inMilliseconds(times[len(times)-1]))
	memory, err := residentMemory(g.process.Pid())
	b.report.add(name+"memory", "", megabytes, memory/1e6)
	return err
}
