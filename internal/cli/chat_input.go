package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxLineBytes = 1 << 20
	keptMost     = 100 // lines that are typed while an answer comes, and said after it
)

// line is one line of input, or its end.
type line struct {
	text string
	err  error
}

// input is what a person types, line by line. Its goroutine reads a line only when the one before was taken; it ends
// with the input, with [input.close], or with the process.
type input struct {
	from    io.Reader
	lines   chan line
	closed  chan struct{}
	reading bool

	kept []string // typed while an answer came, for afterwards
	end  error    // why there is no more; nil while there may be
}

func newInput(from io.Reader) *input {
	return &input{from: from, lines: make(chan line), closed: make(chan struct{})}
}

func (in *input) close() { close(in.closed) }

// more gives the lines that are still to come; nil, from which nothing comes, after the last one.
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
	scanner.Buffer(nil, maxLineBytes)
	for scanner.Scan() {
		if !in.give(line{text: scanner.Text()}) {
			return
		}
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a line is longer than %d bytes", maxLineBytes)
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

// keep puts a line aside; false if there are too many.
func (in *input) keep(text string) bool {
	if len(in.kept) >= keptMost {
		return false
	}
	in.kept = append(in.kept, text)
	return true
}

// next waits for a line; an interrupt at the prompt is the end.
func (c *chat) next(ctx context.Context) (string, error) {
	if len(c.in.kept) > 0 {
		text := c.in.kept[0]
		c.in.kept = c.in.kept[1:]
		return text, nil
	}
	if c.in.end != nil {
		return "", c.in.end
	}
	select {
	case l := <-c.in.more():
		return l.text, l.err
	case <-c.Signals:
		fmt.Fprintln(c.Stdout)
		return "", io.EOF
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// isEnd reports whether a line ends the chat.
func isEnd(text string) bool {
	text = strings.TrimSpace(text)
	return text == "/quit" || text == "/exit"
}
