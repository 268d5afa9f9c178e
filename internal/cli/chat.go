package cli

import (
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

// event is a live event of the API's streams.
type event struct {
	Run    string `json:"run"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	Failed bool   `json:"failed"`

	Delivery string `json:"delivery"` // of a notice

	Buttons []struct{ Label, Value string } `json:"buttons"`

	Withheld *withheld `json:"withheld"`
}

// withheld says that there is an answer that the gateway does not tell.
type withheld struct {
	Message  string `json:"message"`
	Delivery string `json:"delivery"`
	Approval string `json:"approval"`
}

// line says it with the command that shows the rest.
func (w *withheld) line() string {
	switch {
	case w.Approval != "":
		return w.Message + " [sluice approvals show " + w.Approval + "]"
	case w.Delivery != "":
		return w.Message + " [sluice deliveries show " + w.Delivery + "]"
	}
	return w.Message
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

In a chat, /help lists the gateway's commands. Where the answer waits for a
decision, y allows it and n denies it; where several questions wait,
/approve ID allow says which. Commands work while an answer comes; other lines
are said after it. Ctrl-C stops what the agent is doing; Ctrl-C at the prompt,
Ctrl-D or /quit ends the chat.`,
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return failed(err)
		}
		chat := &chat{app: a, client: c, session: session, in: newInput(a.Stdin)}
		defer chat.in.close()
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

// chat is one conversation.
type chat struct {
	*app
	client  *client
	session string
	in      *input
}

// loop asks and answers until the input ends.
func (c *chat) loop(ctx context.Context) error {
	if c.Terminal {
		fmt.Fprintf(c.Stdout, "Talking to session %s. /help shows the commands, Ctrl-D ends.\n", clean(c.session))
	}
	for {
		if c.Terminal {
			fmt.Fprint(c.Stdout, "\n> ")
		}
		text, err := c.next(ctx)
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
	switch text = strings.TrimSpace(text); {
	case text == "":
		return nil
	case isEnd(text):
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

// stream posts a message and passes on the events of its run, or of the command that it is.
func (c *chat) stream(ctx context.Context, text string, pass func(event) error) error {
	resp, err := c.client.open(ctx, request{
		method: http.MethodPost, path: sessionPath(c.session, "/messages"), accept: "text/event-stream", body: map[string]string{"message": text},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()                                               //nolint:errcheck // nothing is written
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
