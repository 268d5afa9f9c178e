// Package chat talks to an agent from the terminal. What is typed is sent, and
// the answer is printed as it arrives. Questions of the agent are decided with y
// or n, and commands work while an answer arrives.
//
// Goroutines: one reads the input, see [input]. Each turn has one that reads the
// answer's stream, and one for each command that is typed in the meantime; all of a
// turn's end with the turn.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// Chat is a conversation with one session.
type Chat struct {
	Client   *api.Client
	Session  string // its key or id
	Screen   terminal.Screen
	Input    io.Reader
	Terminal bool             // input and output are a terminal
	Signals  <-chan os.Signal // interrupts; nil for none

	in *input
}

var (
	// errRunFailed: the run ended without an answer, and the reason is printed.
	errRunFailed = errors.New("the run failed")
	// errCut: the stream ended before the run did.
	errCut = errors.New("the connection closed before the reply was complete. The agent continues; `sluice sessions history` shows the reply later")
)

// Once sends one message and prints the answer.
func (c *Chat) Once(ctx context.Context, text string) error {
	c.in = newInput(c.Input)
	defer c.in.close()
	err := c.turn(ctx, text)
	if errors.Is(err, errRunFailed) {
		return terminal.ErrReported
	}
	return err
}

// Run reads and sends messages until the input ends.
func (c *Chat) Run(ctx context.Context) error {
	c.in = newInput(c.Input)
	defer c.in.close()
	if c.Terminal {
		fmt.Fprintf(c.Screen.Out, "Session %s. Type a message, /help for commands, or Ctrl-D to leave.\n", terminal.Line(c.Session))
	}
	for {
		if c.Terminal {
			fmt.Fprint(c.Screen.Out, "\n> ")
		}
		text, err := c.next(ctx)
		if err == nil {
			err = c.say(ctx, strings.TrimSpace(text))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// say handles one line. The failure of one turn is printed and does not end the chat; io.EOF does.
func (c *Chat) say(ctx context.Context, text string) error {
	switch {
	case text == "":
		return nil
	case isQuit(text):
		return io.EOF
	}
	err := c.turn(ctx, text)
	var refused *api.Error
	switch {
	case errors.Is(err, errRunFailed):
		return nil
	case errors.As(err, &refused) && refused.Status != http.StatusUnauthorized, errors.Is(err, errCut):
		fmt.Fprintf(c.Screen.Err, "sluice: %s\n", terminal.Text(err.Error()))
		return nil
	}
	return err
}

// next waits for a line. An interrupt at the prompt ends the chat.
func (c *Chat) next(ctx context.Context) (string, error) {
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
		fmt.Fprintln(c.Screen.Out)
		return "", io.EOF
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// isQuit reports whether a line ends the chat.
func isQuit(text string) bool {
	text = strings.TrimSpace(text)
	return text == "/quit" || text == "/exit"
}
