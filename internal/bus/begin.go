package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// marksSubject is in the stream of events, and not the name of a session.
	marksSubject = eventsSubject + "mark"
	// markPause is the pause before the second look for a mark. It doubles.
	markPause = 200 * time.Microsecond
)

// begin is where the reader of a session's events begins.
type begin struct {
	after uint64 // the number of the last event that the reader has; 0: it gets those that come from now on
	mark  uint64 // what the gatherer has published last, see [gatherer.follow]; 0: there is no gatherer
}

// start is the number of the first event that the reader gets.
func (b begin) start(ctx context.Context, stream *stream) (uint64, error) {
	if b.after == 0 && b.mark > 0 {
		n, err := stored(ctx, stream, b.mark)
		return n + 1, err
	}
	info, err := stream.Info(ctx)
	switch {
	case err != nil:
		return 0, err
	case b.after == 0:
		return info.State.LastSeq + 1, nil
	case b.after > info.State.LastSeq:
		return 1, nil // not a number of this stream: the reader gets all there is
	}
	return b.after + 1, nil
}

// stored waits until the server has stored a mark, and gives its number. The stream's own last number may leave out what
// is on its way.
func stored(ctx context.Context, stream *stream, mark uint64) (uint64, error) {
	for pause := markPause; ; pause *= 2 {
		m, err := stream.GetLastMsgForSubject(ctx, marksSubject)
		if err == nil {
			n, err := strconv.ParseUint(string(m.Data), 10, 64)
			if err != nil || n >= mark {
				return m.Sequence, err
			}
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}
