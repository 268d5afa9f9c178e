package slack

import (
	"fmt"
	"net/url"

	"sluice/adapters"
)

// command is a slash command.
type command struct {
	Command     string `json:"command"`
	Text        string `json:"text"`
	Channel     string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	User        string `json:"user_id"`
	Team        string `json:"team_id"`
	ResponseURL string `json:"response_url"`
	Trigger     string `json:"trigger_id"`
}

func readCommand(raw []byte) (item, error) {
	c := &command{}
	unread, err := adapters.Decode(raw, c)
	if err != nil {
		return item{}, fmt.Errorf("read slash command: %w", err)
	}
	it, err := c.item()
	it.unread = unread
	return it, err
}

func readCommandForm(form url.Values) (item, error) {
	c := &command{
		Command: form.Get("command"), Text: form.Get("text"), Channel: form.Get("channel_id"), ChannelName: form.Get("channel_name"),
		User: form.Get("user_id"), Team: form.Get("team_id"), ResponseURL: form.Get("response_url"), Trigger: form.Get("trigger_id"),
	}
	return c.item()
}

func (c *command) item() (item, error) {
	if c.Command == "" || c.Channel == "" || c.User == "" || c.Trigger == "" {
		return item{}, fmt.Errorf("read slash command: %w", errMalformed)
	}
	return item{id: c.Trigger, lane: c.Channel, command: c}, nil
}

// press is a press of a button.
type press struct {
	Type    string `json:"type"`
	Trigger string `json:"trigger_id"`
	User    struct {
		ID string `json:"id"`
	} `json:"user"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	Container struct {
		Type     string `json:"type"`
		Channel  string `json:"channel_id"`
		TS       string `json:"message_ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"container"`
	View struct {
		ID string `json:"id"`
	} `json:"view"`
	Message struct {
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		ID    string `json:"action_id"`
		Type  string `json:"type"`
		Value string `json:"value"`
		TS    string `json:"action_ts"`
	} `json:"actions"`
}

// readPress decodes an interaction with blocks. Only buttons of messages count.
func readPress(raw []byte) (item, error) {
	p := &press{}
	unread, err := adapters.Decode(raw, p)
	if err != nil {
		return item{}, fmt.Errorf("read interaction: %w", err)
	}
	if p.Type != "block_actions" || len(p.Actions) == 0 || p.Actions[0].Type != "button" || p.inView() {
		return item{}, nil
	}
	if p.Container.Channel == "" || p.Container.TS == "" || p.User.ID == "" {
		return item{}, fmt.Errorf("read interaction: %w", errMalformed)
	}
	return item{id: p.Trigger, lane: p.Container.Channel, at: p.Actions[0].TS, press: p, unread: unread}, nil
}

// inView reports whether the button is in the app's Home tab or in a modal window instead of a message.
func (p *press) inView() bool { return p.Container.Type == "view" || p.View.ID != "" }
