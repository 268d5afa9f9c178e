package mcp

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"golang.org/x/time/rate"

	"sluice/adapters"
)

const (
	lineMax    = 1 << 10 // logged bytes of a line
	linesBurst = 50      // lines that may be logged at once
	linesRate  = 1       // then per second
)

// logErrors logs a program's stderr until it ends, with limits on lines and their length, and without the program's
// own secrets.
func (v *server) logErrors(stderr io.Reader) {
	limit := rate.NewLimiter(linesRate, linesBurst)
	hide := redactor(v.Env)
	lines := bufio.NewReaderSize(stderr, lineMax)
	left := 0
	for {
		line, cut, err := nextLine(lines)
		if err != nil {
			return // the program has ended, or its pipe was closed
		}
		if !limit.AllowN(v.cfg.Now(), 1) {
			left++
			continue
		}
		v.cfg.Log.Info("MCP server wrote to stderr", "line", hide.Replace(line), "cut", cut, "lines_left_out", left)
		left = 0
	}
}

// nextLine reads a line; cut reports that it was longer.
func nextLine(r *bufio.Reader) (line string, cut bool, err error) {
	raw, err := r.ReadSlice('\n')
	line = strings.ToValidUTF8(strings.TrimRight(string(raw), "\r\n"), "?")
	for errors.Is(err, bufio.ErrBufferFull) {
		cut = true
		_, err = r.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil // the last line has no line end
	}
	return line, cut, err
}

// secretLengthMin is the minimum length of values that are kept out of the log.
const secretLengthMin = 6

// redactor removes values from texts.
func redactor(values map[string]adapters.Secret) *strings.Replacer {
	var pairs []string
	for _, value := range values {
		if len(value) >= secretLengthMin {
			pairs = append(pairs, value.Reveal(), value.String())
		}
	}
	return strings.NewReplacer(pairs...)
}
