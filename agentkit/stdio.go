package agentkit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// eventMax is the size of an event, in bytes, at most.
const eventMax = 2 << 20

// ServeStdio works the run of an agent of kind command: it reads turns from in, one JSON object on each line, and writes
// frames to out. It returns when in ends. The program writes nothing else to out.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, handle Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &pipe{out: out, next: make(chan incoming)}
	read := make(chan error, 1)
	go func() { read <- s.read(ctx, in) }() // ends with in, which the gateway closes
	for {
		select {
		case err := <-read:
			return err
		case first, ok := <-s.next:
			if !ok {
				return <-read
			}
			if err := perform(ctx, newWork(first, s.next, ""), s.beat, handle); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pipe is the standard streams of a program.
type pipe struct {
	next chan incoming

	mu   sync.Mutex
	out  io.Writer
	turn string // the newest
}

// read hands on the turns.
func (s *pipe) read(ctx context.Context, in io.Reader) error {
	defer close(s.next)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, eventMax)
	for lines.Scan() {
		turn := incoming{send: s.write}
		if err := json.Unmarshal(lines.Bytes(), &turn.event); err != nil || turn.event.Type != TypeTurn {
			return fmt.Errorf("line on standard input is not a turn: %w", err)
		}
		s.mu.Lock()
		s.turn = turn.event.ID
		s.mu.Unlock()
		select {
		case s.next <- turn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}

func (s *pipe) beat() error {
	s.mu.Lock()
	turn := s.turn
	s.mu.Unlock()
	return s.write(Frame{Turn: turn, Type: FrameAlive})
}

func (s *pipe) write(f Frame) error {
	text, err := f.encode()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	return err
}
