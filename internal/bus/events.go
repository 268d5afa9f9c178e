package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/sessions"
)

const (
	wakeSubject = "sluice.wake."
	// followBuffer is how many events the reader of a session may fall behind.
	followBuffer = 256
)

// Wake implements [router.Bus].
func (b *Bus) Wake(partition int, lane sessions.Lane) {
	if b.solo() {
		b.owned.wake(partition, lane)
		return
	}
	if err := b.conn.Publish(wakeSubject+strconv.Itoa(partition), []byte(lane)); err != nil {
		b.metrics.dropped.WithLabelValues("wake").Inc()
	}
}

// Emit implements [router.Bus].
func (b *Bus) Emit(event sessions.Event) {
	text, err := json.Marshal(event)
	if err != nil {
		b.metrics.dropped.WithLabelValues("event").Inc()
		return
	}
	if b.solo() {
		b.gather.emit(eventsSubject+string(event.Session), text)
		return
	}
	b.publishEvent(eventsSubject+string(event.Session), text)
}

// Follow implements [router.Bus].
func (b *Bus) Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error) {
	events, err := follow(ctx, b, eventsSubject+string(id), after)
	if err != nil {
		return nil, fmt.Errorf("follow session %s: %w", id, err)
	}
	return events, nil
}

// Everything gives the events of all sessions.
type Everything struct{ Bus *Bus }

// FollowAll is [Bus.Follow] for the events of all sessions.
func (e Everything) FollowAll(ctx context.Context, after uint64) (<-chan sessions.Event, error) {
	events, err := follow(ctx, e.Bus, eventsSubject+"*", after)
	if err != nil {
		return nil, fmt.Errorf("follow all sessions: %w", err)
	}
	return events, nil
}

// errNoEvents means that live events can't be followed now.
var errNoEvents = errors.New("the bus has no live events now; try again in a moment")

// follow gives the events of a subject with a number above after, or those from now on if it is 0.
func follow(ctx context.Context, b *Bus, subject string, after uint64) (<-chan sessions.Event, error) {
	if b.solo() {
		if err := b.embed(); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	stream := b.events
	b.mu.Unlock()
	if stream == nil || !b.conn.IsConnected() { // otherwise the request would be kept, and carried out for nobody after a reconnection
		return nil, errNoEvents
	}
	leave, mark := func() {}, uint64(0)
	if b.solo() {
		leave, mark = b.gather.follow()
	}
	consumer, err := follower(ctx, stream, subject, begin{after, mark})
	if err != nil {
		leave()
		b.damaged()
		return nil, err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(followBuffer))
	if err != nil {
		leave()
		stream.release(b.ctx, consumer, b.cfg.Log)
		return nil, err
	}
	out := make(chan sessions.Event, followBuffer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		leave()
		messages.Stop()
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(stream.life, cancel)
	context.AfterFunc(ctx, messages.Stop)
	b.metrics.followers.Inc()
	b.wg.Go(func() {
		defer stream.release(b.ctx, consumer, b.cfg.Log)
		defer close(out)
		defer leave()
		defer b.metrics.followers.Dec()
		defer forget()
		defer cancel()
		b.pass(messages, out)
	})
	return out, nil
}

// follower creates the consumer. It starts at a fixed sequence number, so that no later event is missed.
func follower(ctx context.Context, stream *stream, subject string, from begin) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	start, err := from.start(ctx, stream)
	if err != nil {
		return nil, err
	}
	return stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: start,
	})
}

// release removes the consumer of a follower that has left. Its end alone does not, and the server would keep it for five
// minutes. Those that a stop of the gateway or a lost connection leaves behind end then.
func (s *stream) release(ctx context.Context, consumer jetstream.Consumer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := s.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
		log.Debug("a follower's consumer stays on the server for a while", "err", err)
	}
}

// pass forwards events until the follower is stopped or its reader is too slow.
func (b *Bus) pass(messages jetstream.MessagesContext, out chan<- sessions.Event) {
	for {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return
		}
		if err != nil {
			b.cfg.Log.Debug("follower ended", "err", err)
			return
		}
		if m.Subject() == marksSubject {
			continue
		}
		var event sessions.Event
		meta, err := m.Metadata()
		if err == nil {
			err = json.Unmarshal(m.Data(), &event)
		}
		if err != nil {
			b.cfg.Log.Warn("could not read an event", "subject", m.Subject(), "err", err)
			continue
		}
		event.Seq = meta.Sequence.Stream
		select {
		case out <- event:
		default:
			b.cfg.Log.Debug("a live view is too slow and was ended; it can resume", "session", event.Session)
			return
		}
	}
}
