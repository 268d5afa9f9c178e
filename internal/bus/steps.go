package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/pause"
)

const (
	stepsStream  = "SLUICE_STEPS"
	stepsSubject = "sluice.steps."
	// stepsBytes bounds the stream. Steps beyond it are refused, and published again later.
	stepsBytes = 64 << 20
	// stepsKnown is how long the server drops a step with the same id.
	stepsKnown = 2 * time.Minute
	// stepsWaiting is how many steps wait here until they are published. Beyond that, they are dropped, and published again
	// later.
	stepsWaiting = 4096
	// stepsAcks is how many delivered steps of a partition may be without an acknowledgement.
	stepsAcks = 10_000
	// stepsAckWait is how long a step may be worked before it is delivered again, which changes nothing.
	stepsAckWait = 10 * time.Minute
	// stepsAhead is how many steps of a partition are fetched at a time.
	stepsAhead = 256
	// tailBuffer and tailBytes are how far a view of the steps may fall behind.
	tailBuffer, tailBytes = 4096, 8 << 20
	// updateFailed is the server's code for a stream that it can't change.
	updateFailed = 10069
	// retrySteps is the pause after a reader of steps has failed.
	retrySteps = 500 * time.Millisecond
)

// outgoing is a step to publish; without text it only asks for the reader of its partition.
type outgoing struct {
	partition int
	id        string
	text      []byte
}

// courier publishes steps and delivers them to the owner of their partition. It is safe for concurrent use.
type courier struct {
	ctx        context.Context // ends when the bus stops
	solo       bool            // the server is embedded, and this is the only replica
	embed      func() error    // starts the embedded server
	conn       func() *nats.Conn
	js         func() jetstream.JetStream
	background func(work func()) // runs work on a goroutine that the bus waits for
	damaged    func()            // asks for a check whether the server still has everything
	owned      *owned
	dropped    prometheus.Counter
	log        *slog.Logger

	start    sync.Once
	outgoing chan outgoing

	mu         sync.Mutex
	reading    context.Context // ends with the next restart of the readers
	endReading context.CancelFunc
}

func newCourier(c *courier) *courier {
	c.outgoing = make(chan outgoing, stepsWaiting)
	c.reading, c.endReading = context.WithCancel(c.ctx)
	return c
}

// PublishStep implements [router.Bus].
func (c *courier) PublishStep(partition int, id string, text []byte) {
	c.start.Do(func() { c.background(c.publisher) })
	select {
	case c.outgoing <- outgoing{partition, id, text}:
	default:
		c.dropped.Inc()
	}
}

// ReadSteps implements [router.Bus].
func (c *courier) ReadSteps(partition int) {
	if c.solo { // in a cluster, each owned partition is read
		c.PublishStep(partition, "", nil)
	}
}

// TailSteps delivers the steps that are published from now on, of all partitions. The channel is closed when ctx ends, or when
// its reader is too slow.
func (c *courier) TailSteps(ctx context.Context) (<-chan []byte, error) {
	if c.solo {
		if err := c.embed(); err != nil {
			return nil, fmt.Errorf("follow steps: %w", err)
		}
	}
	sub, err := c.conn().SubscribeSync(stepsSubject + "*")
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(tailBuffer, tailBytes), c.conn().FlushTimeout(requestTimeout))
	}
	if err != nil {
		return nil, fmt.Errorf("follow steps: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	out := make(chan []byte)
	c.background(func() {
		defer close(out)
		defer stop()
		defer cancel()
		if err := c.pass(ctx, sub, out); ctx.Err() == nil {
			c.log.Debug("a view of the steps was ended; it can begin again", "err", err)
		}
		_ = sub.Unsubscribe() // fails only if the connection is closed
	})
	return out, nil
}

// pass forwards steps until ctx ends, or the reader was too slow.
func (c *courier) pass(ctx context.Context, sub *nats.Subscription, out chan<- []byte) error {
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		select {
		case out <- m.Data:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// publisher publishes steps until the bus stops. With the embedded server it starts the server, and the readers of the
// partitions that have steps: other partitions cost nothing.
func (c *courier) publisher() {
	read := map[int]bool{}
	for {
		var o outgoing
		select {
		case <-c.ctx.Done():
			return
		case o = <-c.outgoing:
		}
		if c.solo {
			if err := c.embed(); err != nil {
				if c.ctx.Err() == nil {
					c.log.Error("steps between agents wait: the embedded bus does not start", "err", err)
				}
				continue
			}
			if !read[o.partition] {
				read[o.partition] = true
				c.background(func() { c.read(c.ctx, o.partition) })
			}
		}
		if o.text != nil {
			c.publish(o)
		}
	}
}

func (c *courier) publish(o outgoing) {
	m := nats.NewMsg(stepsSubject + strconv.Itoa(o.partition))
	m.Data = o.text
	if _, err := c.js().PublishMsgAsync(m, jetstream.WithMsgID(o.id), jetstream.WithExpectStream(stepsStream)); err != nil {
		c.refused(m, err)
	}
}

// refused notes that the server has not stored a step. It is published again once its worker misses it.
func (c *courier) refused(m *nats.Msg, err error) {
	c.dropped.Inc()
	if c.ctx.Err() == nil {
		c.log.Warn("bus did not take a step; it is published again", "subject", m.Subject, "err", err)
		c.damaged()
	}
}

// ensure creates the stream of steps, or adapts it.
func (c *courier) ensure(ctx context.Context, copies int) error {
	cfg := jetstream.StreamConfig{
		Name: stepsStream, Subjects: []string{stepsSubject + "*"}, Description: "steps of exchanges between agents",
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: copies,
		MaxBytes: stepsBytes, Discard: jetstream.DiscardNew, Duplicates: stepsKnown,
	}
	_, err := c.js().CreateOrUpdateStream(ctx, cfg)
	if broken, ok := errors.AsType[*jetstream.APIError](err); ok && broken.ErrorCode == updateFailed {
		// A stream that is made again while the server still removes it may lose its folder, and is broken for ever. The
		// rows have all that is in it.
		c.log.Warn("bus can't change the stream of steps; it is made again", "err", err)
		if err := c.js().DeleteStream(ctx, stepsStream); err != nil {
			return err
		}
		_, err = c.js().CreateOrUpdateStream(ctx, cfg)
	}
	return err
}

// read delivers the steps of an owned partition until ctx ends, whatever the server loses meanwhile.
func (c *courier) read(ctx context.Context, p int) {
	for ctx.Err() == nil {
		reading, cancel := context.WithCancel(ctx)
		restart := context.AfterFunc(c.life(), cancel)
		err := c.readOnce(reading, p)
		restarted := reading.Err() != nil
		restart()
		cancel()
		if restarted {
			continue
		}
		c.log.Debug("reader of steps failed; trying again", "partition", p, "err", err)
		c.damaged()
		_ = pause.Wait(ctx, retrySteps)
	}
}

// life ends with the next restart of the readers.
func (c *courier) life() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading
}

// restart lets all readers of steps begin again: a server that has restarted may have forgotten their consumers, which
// a reader notices late.
func (c *courier) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endReading()
	c.reading, c.endReading = context.WithCancel(c.ctx)
}

// readOnce replaces the partition's consumer, so that steps that were delivered to an earlier owner come here at once.
func (c *courier) readOnce(ctx context.Context, p int) error {
	js, name := c.js(), "partition-"+strconv.Itoa(p)
	setup, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := js.DeleteConsumer(setup, stepsStream, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("replace consumer: %w", err)
	}
	consumer, err := js.CreateConsumer(setup, stepsStream, jetstream.ConsumerConfig{
		Durable: name, FilterSubject: stepsSubject + strconv.Itoa(p), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: stepsAckWait, MaxAckPending: stepsAcks, MemoryStorage: true,
	})
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(stepsAhead))
	if err != nil {
		return fmt.Errorf("read steps: %w", err)
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("read steps: %w", err)
		}
		c.owned.stepped(p, m.Data(), func() {
			if err := m.Ack(); err != nil && c.ctx.Err() == nil {
				c.log.Debug("step not acknowledged; it is delivered again", "partition", p, "err", err)
			}
		})
	}
}
