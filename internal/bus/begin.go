package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/internal/pause"
)

const (
	// marksSubject is in the stream of events, and can't be the subject of a session.
	marksSubject = eventsSubject + "mark"
	// markPause is the pause before the second look for a mark. It doubles each time, up to markPauseMax.
	markPause, markPauseMax = 200 * time.Microsecond, time.Second
)

// begin is the position at which the reader of a session's events starts.
type begin struct {
	after uint64 // the number of the last event that the reader has; 0: only new events
	mark  uint64 // the last mark that the gatherer has published, see [gatherer.follow]; 0: there is no gatherer
}

// start returns the number of the first event for the reader.
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
		return 1, nil // not a number of this stream: the reader gets all events
	}
	return b.after + 1, nil
}

// stored waits until the server has stored a mark, and returns its number. The stream's own last number may not
// include events in flight.
func stored(ctx context.Context, stream *stream, mark uint64) (uint64, error) {
	pauses := pause.Doubling(markPause, markPauseMax, 0)
	for {
		m, err := stream.GetLastMsgForSubject(ctx, marksSubject)
		if err == nil {
			n, err := strconv.ParseUint(string(m.Data), 10, 64)
			if err != nil || n >= mark {
				return m.Sequence, err
			}
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, err
		}
		if err := pause.Wait(ctx, pauses.NextBackOff()); err != nil {
			return 0, err
		}
	}
}
