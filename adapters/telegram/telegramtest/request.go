package telegramtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"
)

// maxBody bounds a request without files, as the Bot API does.
const maxBody = 1 << 20

// request is every parameter that a method of this server looks at.
type request struct {
	ChatID              chatRef  `json:"chat_id"`
	MessageThreadID     int64    `json:"message_thread_id"`
	MessageID           int64    `json:"message_id"`
	Text                string   `json:"text"`
	ParseMode           string   `json:"parse_mode"`
	DisableNotification bool     `json:"disable_notification"`
	ReplyParameters     *reply   `json:"reply_parameters"`
	RichMessage         *rich    `json:"rich_message"`
	Action              string   `json:"action"`
	Offset              int64    `json:"offset"`
	Limit               int      `json:"limit"`
	Timeout             int      `json:"timeout"`
	AllowedUpdates      []string `json:"allowed_updates"`
	URL                 string   `json:"url"`
	SecretToken         string   `json:"secret_token"`
	DropPendingUpdates  bool     `json:"drop_pending_updates"`

	Caption         string    `json:"caption"`
	ReplyMarkup     *keyboard `json:"reply_markup"`
	Reaction        []reacted `json:"reaction"`
	CallbackQueryID string    `json:"callback_query_id"`
	FileID          string    `json:"file_id"`

	Commands []models.BotCommand `json:"commands"`

	raw     []byte           // the parameters as one JSON object
	file    *models.Document // what was uploaded with the request
	content []byte           // of that file
}

type reply struct {
	MessageID                int64 `json:"message_id"`
	AllowSendingWithoutReply bool  `json:"allow_sending_without_reply"`
}

type rich struct {
	HTML     string `json:"html"`
	Markdown string `json:"markdown"`
}

// chatRef is a chat id, sent as a number or as its decimal text, or a public name with its @.
type chatRef struct {
	ID   int64
	Name string // without the @
}

// UnmarshalJSON reads each form.
func (c *chatRef) UnmarshalJSON(b []byte) error {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	if name, ok := strings.CutPrefix(string(b), "@"); ok {
		c.Name = name
		return nil
	}
	id, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("chat_id %q is not a number", b)
	}
	c.ID = id
	return nil
}

// texts are the parameters that stand unquoted in a form though they are strings.
var texts = map[string]bool{
	"text": true, "caption": true, "callback_query_id": true, "file_id": true, "parse_mode": true, "action": true, "url": true, "secret_token": true,
	"language_code": true, "business_connection_id": true, "message_effect_id": true, "ip_address": true,
}

// unreadError is a body that did not come whole: too long, or its sender has gone.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return "read request body: " + e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

// readRequest reads a body of any of the encodings that the Bot API takes.
func readRequest(r *http.Request) (*request, error) {
	kind, options, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // an empty kind is a form
	most := int64(maxBody)
	if kind == "multipart/form-data" {
		most += maxUpload
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if err != nil {
		return nil, &unreadError{err}
	}
	body := bytes.NewReader(text)
	raw, req := text, &request{}
	switch kind {
	case "application/json":
	case "multipart/form-data":
		raw, err = req.multipartObject(body, options["boundary"])
	default:
		raw, err = formObject(body, r.URL.RawQuery)
	}
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	req.raw = raw
	if len(raw) == 0 {
		return req, nil
	}
	if err := json.Unmarshal(raw, req); err != nil {
		return nil, fmt.Errorf("can't parse request: %w", err)
	}
	return req, nil
}

func (r *request) multipartObject(body io.Reader, boundary string) ([]byte, error) {
	buffered := bufio.NewReader(body)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil // a method without parameters
	}
	parts := multipart.NewReader(buffered, boundary)
	fields := map[string]json.RawMessage{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return json.Marshal(fields)
		}
		if err != nil {
			return nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			kind, _, _ := strings.Cut(part.Header.Get("Content-Type"), ";")
			r.file = &models.Document{FileName: part.FileName(), MimeType: kind, FileSize: int64(len(value))}
			r.content, value = value, []byte("attach://"+part.FormName())
		}
		fields[part.FormName()] = fieldJSON(part.FormName(), string(value))
	}
}

func formObject(body io.Reader, query string) ([]byte, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(text) + "&" + query)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for name := range values {
		fields[name] = fieldJSON(name, values.Get(name))
	}
	return json.Marshal(fields)
}

// fieldJSON is a form field as a JSON value.
func fieldJSON(name, value string) json.RawMessage {
	if !texts[name] && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	quoted, _ := json.Marshal(value) // a string always marshals
	return quoted
}
