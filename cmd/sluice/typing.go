package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"sluice/internal/cli"
)

// typing is a terminal that this program echoes itself: text that is typed or pasted ahead stays hidden until its
// question.
type typing struct {
	*term.Terminal
	restore func() error
}

var _ cli.Typing = typing{}

// takeTerminal takes the terminal over until it is closed.
func takeTerminal(fd int) (cli.Typing, error) {
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("set terminal: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}
	return typing{term.NewTerminal(screen, ""), func() error { return term.Restore(fd, before) }}, nil
}

// Ask implements [cli.Typing].
func (t typing) Ask(prompt string, secret bool) (string, error) {
	if secret {
		return t.ReadPassword(prompt)
	}
	t.SetPrompt(prompt)
	return t.ReadLine()
}

// Close implements [cli.Typing].
func (t typing) Close() error { return t.restore() }
