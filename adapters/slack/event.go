package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
)

// errMalformed means that an event lacks a required field.
var errMalformed = errors.New("a required field of the event is missing")

// item is an event, a slash command or a press of a button. At most one of the three is set; an event that the agent does
// not need sets none.
type item struct {
	id      string // the same for a repetition
	lane    string // what it must stay in order with: the conversation
	at      string // its time as a Slack timestamp; empty if unknown
	event   *event
	command *command
	press   *press
	gone    string // the app's access has ended, and why
	unread  string // a field that could not be read
}

func (i *item) empty() bool { return i.event == nil && i.command == nil && i.press == nil }

// callback is the outer object of the Events API.
type callback struct {
	Type           string          `json:"type"`
	Challenge      string          `json:"challenge"`
	Team           string          `json:"team_id"`
	Authorizations []authorization `json:"authorizations"`
	ID             string          `json:"event_id"`
	Event          json.RawMessage `json:"event"`
}

// authorization is an installation of the app that may see an event.
type authorization struct {
	Team string `json:"team_id"`
	User string `json:"user_id"`
}

// event has the fields of Slack's events that are used here, for all kinds. It is read by [adapters.Decode] and not with the
// library's types, because those refuse a whole event if one field has an unexpected type.
type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	BotID       string          `json:"bot_id"`
	Username    string          `json:"username"`
	BotProfile  profile         `json:"bot_profile"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	ParentUser  string          `json:"parent_user_id"`
	EventTS     string          `json:"event_ts"`
	Files       []file          `json:"files"`
	Attachments []attached      `json:"attachments"`
	Blocks      json.RawMessage `json:"blocks"`
	Edited      struct {
		TS string `json:"ts"`
	} `json:"edited"`

	Message   *event `json:"message"`          // message_changed: the new message
	Previous  *event `json:"previous_message"` // message_changed, message_deleted: the old message
	DeletedTS string `json:"deleted_ts"`

	Reaction string   `json:"reaction"`
	Item     reacted  `json:"item"`
	ItemUser string   `json:"item_user"`
	Tokens   *revoked `json:"tokens"`

	team   string // of the callback
	unread string // a field that could not be read
}

type profile struct {
	Name string `json:"name"`
}

// reacted is the message with a reaction.
type reacted struct {
	Type    string `json:"type"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// revoked has the users whose tokens were revoked.
type revoked struct {
	Bot []string `json:"bot"`
}

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	URL      string `json:"url_private"`
	Subtype  string `json:"subtype"`
	Duration int    `json:"duration_ms"`
}

// readEvent decodes an event of the Events API. The item is empty for kinds that are not used.
func readEvent(raw []byte) (item, error) {
	var outer callback
	unreadOuter, err := adapters.Decode(raw, &outer)
	if err != nil {
		return item{}, fmt.Errorf("read callback: %w", err)
	}
	if outer.Type != "event_callback" {
		return item{}, nil // app_rate_limited and future kinds
	}
	var kind struct {
		Type string `json:"type"`
	}
	if _, err := adapters.Decode(outer.Event, &kind); err != nil || kind.Type == "" {
		return item{}, fmt.Errorf("read event: %w", errors.Join(errMalformed, err))
	}
	switch kind.Type {
	case "app_uninstalled":
		return item{gone: kind.Type}, nil
	case "message", "app_mention", "reaction_added", "reaction_removed", "tokens_revoked":
	default:
		return item{}, nil
	}
	e := &event{}
	unread, err := adapters.Decode(outer.Event, e)
	if err != nil {
		return item{}, fmt.Errorf("read event %s: %w", kind.Type, err)
	}
	if kind.Type == "tokens_revoked" {
		return tokensRevoked(e), nil
	}
	e.team, e.unread = outer.installed(), cmp.Or(unread, unreadOuter)
	lane := cmp.Or(e.Channel, e.Item.Channel)
	if lane == "" {
		return item{}, fmt.Errorf("read event %s: no channel: %w", kind.Type, errMalformed)
	}
	return item{id: outer.ID, lane: lane, at: cmp.Or(e.EventTS, e.TS), event: e, unread: e.unread}, nil
}

func tokensRevoked(e *event) item {
	if e.Tokens == nil || len(e.Tokens.Bot) == 0 {
		return item{} // a person's token, not the bot's
	}
	return item{gone: e.Type}
}

// installed is the workspace whose installation the event is for.
func (c *callback) installed() string {
	if len(c.Authorizations) > 0 && c.Authorizations[0].Team != "" {
		return c.Authorizations[0].Team
	}
	return c.Team
}

// momentOf returns the time of a message's timestamp; zero for an empty one.
func momentOf(ts string) time.Time {
	whole, fraction, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}
	}
	micros, _ := strconv.ParseInt((fraction + "000000")[:6], 10, 64) // without a fraction, the second is exact enough
	return time.Unix(seconds, micros*1000)
}

// timestamp is a time as Slack writes it.
func timestamp(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}
