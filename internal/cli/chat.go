package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

const maxLineBytes = 1 << 20

// event is a live event of the API's streams.
type event struct {
	Run    string `json:"run"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	Failed bool   `json:"failed"`

	Buttons []struct{ Label, Value string } `json:"buttons"`
}

// errRunFailed: the run ended without an answer; why was printed.
var errRunFailed = errors.New("the run failed")

// errCut: the stream ended before the run did.
var errCut = errors.New("the connection ended before the answer did; it is still being worked on")

func (a *app) chatCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use: "chat [TEXT]", Short: "Talk to an agent from the terminal", Args: cobra.MaximumNArgs(1),
		Long: `Talk to an agent. With TEXT one question is asked and its answer printed.

In a chat, /help lists the gateway's commands. Ctrl-C stops what the agent is
doing; Ctrl-C at the prompt, Ctrl-D or /quit ends the chat.`,
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return failed(err)
		}
		chat := &chat{app: a, client: c, session: session}
		if len(args) > 0 {
			return failed(silent(chat.turn(cmd.Context(), args[0])))
		}
		return failed(chat.loop(cmd.Context()))
	}
	cmd.Flags().StringVar(&session, "session", "main", "the session, by `key` or id")
	return cmd
}

// silent keeps what was printed already from being printed again.
func silent(err error) error {
	if errors.Is(err, errRunFailed) {
		return errReported
	}
	return err
}

// chat is one conversation. Its goroutines: one that reads lines, which ends
// with the input or the process, and one for each answer, which ends with the turn.
type chat struct {
	*app
	client  *client
	session string
}

// line is one line of input, or its end.
type line struct {
	text string
	err  error
}

// loop asks and answers until the input ends.
func (c *chat) loop(ctx context.Context) error {
	if c.Terminal {
		fmt.Fprintf(c.Stdout, "Talking to session %s. /help shows the commands, Ctrl-D ends.\n", clean(c.session))
	}
	lines := make(chan line)
	done := make(chan struct{})
	defer close(done)
	go c.readLines(lines, done)
	for {
		if c.Terminal {
			fmt.Fprint(c.Stdout, "\n> ")
		}
		text, err := c.next(ctx, lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.say(ctx, text); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// say handles one line. Failures of one turn are told and do not end the chat; io.EOF does.
func (c *chat) say(ctx context.Context, text string) error {
	switch text = strings.TrimSpace(text); text {
	case "":
		return nil
	case "/quit", "/exit":
		return io.EOF
	}
	err := c.turn(ctx, text)
	var refused *apiError
	switch {
	case errors.Is(err, errRunFailed):
		return nil
	case errors.As(err, &refused) && refused.Status != http.StatusUnauthorized, errors.Is(err, errCut):
		fmt.Fprintf(c.Stderr, "sluice: %s\n", err)
		return nil
	}
	return err
}

func (c *chat) readLines(lines chan<- line, done <-chan struct{}) {
	scanner := bufio.NewScanner(c.Stdin)
	scanner.Buffer(nil, maxLineBytes)
	send := func(l line) bool {
		select {
		case lines <- l:
			return true
		case <-done:
			return false
		}
	}
	for scanner.Scan() {
		if !send(line{text: scanner.Text()}) {
			return
		}
	}
	err := scanner.Err()
	if err == nil {
		err = io.EOF
	}
	send(line{err: err})
}

// next waits for a line; an interrupt at the prompt is the end.
func (c *chat) next(ctx context.Context, lines <-chan line) (string, error) {
	select {
	case l := <-lines:
		return l.text, l.err
	case <-c.Signals:
		fmt.Fprintln(c.Stdout)
		return "", io.EOF
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// turn says one thing and prints the answer as it comes.
func (c *chat) turn(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan event)
	ended := make(chan error, 1)
	go func() {
		ended <- c.stream(ctx, text, events)
		close(events)
	}()
	p := printer{app: c.app}
	stops, asked := 0, false
	for {
		if stops > 0 && p.run != "" && !asked {
			asked = true
			c.stop(ctx, p.run)
		}
		select {
		case e, ok := <-events:
			if !ok {
				return p.end(<-ended)
			}
			p.event(e)
		case <-c.Signals:
			if stops++; stops > 1 {
				p.failure = true // nobody waits for it any more
				cancel()
			}
		}
	}
}

// stream posts the message and passes its run's events on.
func (c *chat) stream(ctx context.Context, text string, events chan<- event) error {
	resp, err := c.client.open(ctx, request{
		method: http.MethodPost, path: sessionPath(c.session, "/messages"), accept: "text/event-stream", body: map[string]string{"message": text},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	pass := func(e event) error {
		select {
		case events <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := pass(event{Run: resp.Header.Get("X-Run-Id")}); err != nil { // so that it can be stopped before it begins
		return err
	}
	return frames(resp.Body, func(f frame) error {
		var e event
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			return fmt.Errorf("read event %s: %w", f.event, err)
		}
		e.Type = orText(e.Type, f.event)
		return pass(e)
	})
}

// stop asks for the end of a run. That it ended comes as an event.
func (c *chat) stop(ctx context.Context, run string) {
	path := sessionPath(c.session, "/runs/"+url.PathEscape(run)+"/cancel")
	if _, err := c.client.call(ctx, request{method: http.MethodPost, path: path}); err != nil {
		fmt.Fprintf(c.Stderr, "sluice: stop the run: %s\n", err)
	}
}

// printer shows the events of one turn.
type printer struct {
	*app
	run     string
	shown   bool // something of the answer was printed
	open    bool // the last line has no end yet
	closed  bool // the run has ended, or a command was answered
	failure bool
}

func (p *printer) event(e event) {
	if e.Run != "" {
		p.run = e.Run
	}
	switch e.Type {
	case "text.delta":
		p.text(e.Text)
	case "tool.call":
		p.note("[" + e.Tool + "]")
	case "tool.result":
		if e.Failed {
			p.note("[" + e.Tool + " failed]")
		}
	case "run.retrying":
		p.note("[the model failed; trying again]")
		p.shown = false
	case "message.notice":
		p.closed = p.run == "" // else it is a question that the run may wait for
		p.paragraph(e.Text)
		for _, b := range e.Buttons {
			p.note("[" + b.Label + ": " + b.Value + "]")
		}
	case "run.done":
		p.closed = true
		if !p.shown {
			p.text(e.Text)
		}
		if !p.shown {
			p.note("[the answer was not sent here; why: sluice deliveries list --status blocked, or /status]")
		}
	case "run.failed", "run.aborted", "run.dropped":
		p.closed, p.failure = true, true
		p.fail(e)
	}
}

func (p *printer) text(s string) {
	if s == "" {
		return
	}
	fmt.Fprint(p.Stdout, piece(s))
	p.shown, p.open = true, !strings.HasSuffix(s, "\n")
}

func (p *printer) paragraph(s string) {
	p.endLine()
	fmt.Fprintln(p.Stdout, safe(s))
}

// note is not part of the answer: it goes to standard error.
func (p *printer) note(s string) {
	p.endLine()
	fmt.Fprintln(p.Stderr, clean(s))
}

func (p *printer) fail(e event) {
	p.endLine()
	word := strings.TrimPrefix(e.Type, "run.")
	fmt.Fprintf(p.Stderr, "sluice: %s\n", orText(clean(e.Text), "the run was "+word))
}

func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.Stdout)
		p.open = false
	}
}

// end says how the turn went, given how its stream ended.
func (p *printer) end(err error) error {
	p.endLine()
	switch {
	case p.failure:
		return errRunFailed
	case p.closed:
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return errCut
}
