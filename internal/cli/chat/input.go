package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	lineMax = 1 << 20
	keptMax = 100 // lines that are typed while an answer arrives and sent after it
)

// line is a line of input, or its end.
type line struct {
	text string
	err  error
}

// input reads what a person types, line by line. Its goroutine reads a line only after the previous one was taken. It
// ends with the input, or with the process where a read does not return.
type input struct {
	from    io.Reader
	lines   chan line
	closed  chan struct{}
	reading bool

	kept []string // typed while an answer arrived
	end  error    // why no more lines come; nil while some may
}

func newInput(from io.Reader) *input {
	return &input{from: from, lines: make(chan line), closed: make(chan struct{})}
}

func (in *input) close() { close(in.closed) }

// more returns the channel of the next lines; after the last one nil, which blocks.
func (in *input) more() <-chan line {
	if in.end != nil {
		return nil
	}
	if !in.reading {
		in.reading = true
		go in.read()
	}
	return in.lines
}

func (in *input) read() {
	scanner := bufio.NewScanner(in.from)
	scanner.Buffer(nil, lineMax)
	for scanner.Scan() {
		if !in.give(line{text: scanner.Text()}) {
			return
		}
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("an input line is longer than %d bytes", lineMax)
	}
	if err == nil {
		err = io.EOF
	}
	in.give(line{err: err})
}

func (in *input) give(l line) bool {
	select {
	case in.lines <- l:
		return true
	case <-in.closed:
		return false
	}
}

// keep queues a line for after the answer; false where the queue is full.
func (in *input) keep(text string) bool {
	if len(in.kept) >= keptMax {
		return false
	}
	in.kept = append(in.kept, text)
	return true
}
