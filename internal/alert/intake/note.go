package intake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// NoteMax is how long the text of a note may be, in bytes.
const NoteMax = 64 << 10

// ErrTooLong: the text of a note is longer than [NoteMax].
var ErrTooLong = fmt.Errorf("more than %d", NoteMax)

// tagsMax is how many tags a note may have.
const tagsMax = 16

// Note is a plain text with what ntfy's headers say about it.
type Note struct {
	Title, Text string
	Priority    int // 1 to 5, as in ntfy; 3 is the default
	Tags        []string
	Click       string // a web address, or empty
}

// Severity is how bad a note is as an alert.
func (n Note) Severity() Severity {
	switch n.Priority {
	case 5:
		return Critical
	case 4:
		return Error
	case 3:
		return Warning
	}
	return Info
}

// headers of a note by what they mean, in ntfy's spellings.
var (
	titleHeaders    = []string{"Title", "X-Title", "Ti", "T"}
	priorityHeaders = []string{"Priority", "X-Priority", "Prio", "P"}
	tagHeaders      = []string{"Tags", "X-Tags", "Tag", "Ta"}
	clickHeaders    = []string{"Click", "X-Click"}
	// refused are ntfy's headers that would change what happens and that are not supported.
	refused = []string{
		"Delay", "X-Delay", "At", "X-At", "In", "X-In", "Attach", "X-Attach", "Filename", "X-Filename", "Actions", "X-Actions",
		"Action", "X-Action", "Email", "X-Email", "X-E-Mail", "Call", "X-Call", "Template", "X-Template",
	}
)

// Plain reads a note from a request: its headers, and the body as the text, or as JSON with title, message, priority,
// tags and click if the Content-Type says so.
func Plain(headers http.Header, body []byte) (Note, error) {
	for _, name := range refused {
		if headers.Get(name) != "" {
			return Note{}, fmt.Errorf("the header %s is not supported: send the text without it", name)
		}
	}
	n := Note{
		Title: header(headers, titleHeaders), Click: header(headers, clickHeaders),
		Text: string(body), Tags: strings.Split(header(headers, tagHeaders), ","),
	}
	priority := header(headers, priorityHeaders)
	switch kind, _, _ := mime.ParseMediaType(headers.Get("Content-Type")); {
	case kind == "application/json":
		if err := n.readJSON(body, &priority); err != nil {
			return Note{}, err
		}
	case strings.HasPrefix(kind, "multipart/"):
		return Note{}, errors.New("files are not supported here: send a text")
	}
	return n.checked(priority)
}

// header is the first of several headers that is there. Titles with other letters may be encoded as in e-mails.
func header(headers http.Header, names []string) string {
	for _, name := range names {
		if text := headers.Get(name); text != "" {
			if plain, err := new(mime.WordDecoder).DecodeHeader(text); err == nil {
				return plain
			}
			return text
		}
	}
	return ""
}

func (n *Note) readJSON(body []byte, priority *string) error {
	in := struct {
		Title    string          `json:"title"`
		Message  string          `json:"message"`
		Priority json.RawMessage `json:"priority"`
		Tags     []string        `json:"tags"`
		Click    string          `json:"click"`
	}{Title: n.Title, Priority: json.RawMessage(*priority), Tags: n.Tags, Click: n.Click}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return fmt.Errorf("read JSON: %w: want an object with message, and if you like title, priority, tags and click", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read JSON: there is more after the object")
	}
	n.Title, n.Text, n.Tags, n.Click, *priority = in.Title, in.Message, in.Tags, in.Click, strings.Trim(string(in.Priority), `"`)
	return nil
}

// priorities are ntfy's words and numbers.
var priorities = map[string]int{
	"": 3, "1": 1, "min": 1, "2": 2, "low": 2, "3": 3, "default": 3, "4": 4, "high": 4, "5": 5, "max": 5, "urgent": 5,
}

// checked completes a note and checks it.
func (n Note) checked(priority string) (Note, error) {
	n.Priority = priorities[strings.ToLower(strings.TrimSpace(priority))]
	tags := n.Tags
	n.Tags = nil
	for _, tag := range tags {
		if tag = strings.Join(strings.Fields(tag), " "); tag != "" {
			n.Tags = append(n.Tags, tag)
		}
	}
	n.Title = strings.Join(strings.Fields(n.Title), " ")
	n.Text = strings.TrimSpace(n.Text)
	if n.Text == "" { // as ntfy does with a title alone
		n.Text, n.Title = n.Title, ""
	}
	e := Event{}
	e.Link("", n.Click)
	switch {
	case !utf8.ValidString(n.Text) || !utf8.ValidString(n.Title) || !utf8.ValidString(strings.Join(n.Tags, "")):
		return Note{}, errors.New("the text is not UTF-8")
	case n.Text == "":
		return Note{}, errors.New("the text is empty: send it as the body of the request")
	case len(n.Text) > NoteMax:
		return Note{}, fmt.Errorf("the text has %d bytes, %w", len(n.Text), ErrTooLong)
	case len(n.Title) > titleMax:
		return Note{}, fmt.Errorf("the title has %d bytes, more than %d", len(n.Title), titleMax)
	case n.Priority == 0:
		return Note{}, fmt.Errorf("priority %q: want 1 to 5, or min, low, default, high, urgent", cut(priority, 20))
	case len(n.Tags) > tagsMax || len(strings.Join(n.Tags, "")) > titleMax:
		return Note{}, fmt.Errorf("too many tags, or too long ones: want at most %d tags and %d bytes", tagsMax, titleMax)
	case n.Click != "" && len(e.Links) == 0:
		return Note{}, errors.New("the address to click is not an http or https address")
	}
	return n, nil
}

// Event is the note as an alert. The label severity serves routes that match it.
func (n Note) Event(d Defaults) Event {
	first, _, _ := strings.Cut(n.Text, "\n")
	e := Event{
		Action: Fire, Severity: n.Severity(), Title: cut(cmp.Or(n.Title, first), titleMax), Text: cut(n.Text, textMax),
		Labels: map[string]string{"severity": string(n.Severity())}, Annotations: map[string]string{}, Starts: d.Now,
	}
	if e.Title == e.Text {
		e.Text = ""
	}
	if len(n.Tags) > 0 {
		e.Labels["tags"] = strings.Join(n.Tags, ",")
	}
	e.Link("Open", n.Click)
	return e
}
