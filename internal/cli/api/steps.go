package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Step is a step of an exchange as it is on the bus.
type Step struct {
	Type string    `json:"type"`
	Time time.Time `json:"time"`
	Data struct {
		Exchange string `json:"exchange"`
		Turn     int    `json:"turn"`
		From     Party  `json:"from"`
		To       Party  `json:"to"`
		Run      string `json:"run"`
		Label    string `json:"label"`
	} `json:"data"`
}

// Tail passes on the steps of exchanges from now on, each with its JSON text. An error of on ends the stream.
func (c *Client) Tail(ctx context.Context, on func(step Step, text string) error) error {
	resp, err := c.Open(ctx, Request{Path: Path("bus", "steps"), Accept: "text/event-stream"})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	return frames(resp.Body, func(f frame) error {
		var s Step
		if err := json.Unmarshal([]byte(f.data), &s); err != nil {
			return fmt.Errorf("read step: %w", err)
		}
		return on(s, f.data)
	})
}
