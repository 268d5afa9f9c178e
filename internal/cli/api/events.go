package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Event is a live event of a session.
type Event struct {
	Run    string `json:"run"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	Failed bool   `json:"failed"`

	Delivery string    `json:"delivery"` // of a notice
	Buttons  []Button  `json:"buttons"`
	Withheld *Withheld `json:"withheld"`
}

// Button is a button below a notice.
type Button struct{ Label, Value string }

// Say sends a message to a session and passes on the events of its run, or of the command that it is. The first
// event names the run before it starts, so that it can be stopped; it has no type. An error of on ends the stream.
func (c *Client) Say(ctx context.Context, session, text string, on func(Event) error) error {
	resp, err := c.Open(ctx, Request{
		Method: http.MethodPost, Path: Path("sessions", session, "messages"), Accept: "text/event-stream", Body: map[string]string{"message": text},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	if err := on(Event{Run: resp.Header.Get("X-Run-Id")}); err != nil {
		return err
	}
	return frames(resp.Body, func(f frame) error {
		var e Event
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			return fmt.Errorf("read event %s: %w", f.event, err)
		}
		e.Type = cmp.Or(e.Type, f.event)
		return on(e)
	})
}

// StopRun asks the gateway to stop a run. An event says when it has stopped.
func (c *Client) StopRun(ctx context.Context, session, run string) error {
	_, err := c.Call(ctx, Request{Method: http.MethodPost, Path: Path("sessions", session, "runs", run, "cancel")})
	return err
}

const maxFrameBytes = 8 << 20

// frame is one server-sent event.
type frame struct {
	id, event, data string
}

// frames reads server-sent events until the stream ends. An error of on ends the reading.
func frames(r io.Reader, on func(frame) error) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), maxFrameBytes)
	var f frame
	var data []string
	for scanner.Scan() {
		line := scanner.Text()
		if line == "" {
			f.data = strings.Join(data, "\n")
			if f.event != "" || len(data) > 0 {
				if err := on(f); err != nil {
					return err
				}
			}
			f, data = frame{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read stream: %w", err)
	}
	return nil
}
