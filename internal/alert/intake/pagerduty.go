package intake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrUnreadable means that a body is not JSON of the right form.
var ErrUnreadable = errors.New("JSON parse error")

// enqueue is the body of POST /v2/enqueue.
type enqueue struct {
	RoutingKey string `json:"routing_key"`
	Action     string `json:"event_action"`
	DedupKey   string `json:"dedup_key"`
	Client     string `json:"client"`
	ClientURL  string `json:"client_url"`
	Payload    struct {
		Summary   string         `json:"summary"`
		Source    string         `json:"source"`
		Severity  string         `json:"severity"`
		Timestamp string         `json:"timestamp"`
		Component string         `json:"component"`
		Group     string         `json:"group"`
		Class     string         `json:"class"`
		Details   map[string]any `json:"custom_details"`
	} `json:"payload"`
	Links []struct {
		Href string `json:"href"`
		Text string `json:"text"`
	} `json:"links"`
	Images []struct {
		Src string `json:"src"`
		Alt string `json:"alt"`
	} `json:"images"`
}

// RoutingKey reads only the key of the body of POST /v2/enqueue that stands for the sender's token.
func RoutingKey(body []byte) (string, error) {
	var in struct {
		RoutingKey string `json:"routing_key"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&in); err != nil {
		return "", ErrUnreadable
	}
	return strings.TrimSpace(in.RoutingKey), nil
}

// PagerDuty reads the body of POST /v2/enqueue. The key of the event is empty if the sender leaves it to the receiver. Faults are
// in the words of PagerDuty's API, all at once.
func PagerDuty(body []byte, d Defaults) (e Event, faults []string, err error) {
	var in enqueue
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return Event{}, nil, ErrUnreadable
	}
	if faults = in.faults(); len(faults) > 0 {
		return Event{}, faults, nil
	}
	if in.Action == "trigger" {
		return in.event(d), nil, nil
	}
	return Event{Action: Action(in.Action), Key: in.DedupKey}, nil, nil
}

func (in *enqueue) faults() (faults []string) {
	blank := func(name, value string) {
		if strings.TrimSpace(value) == "" {
			faults = append(faults, "'"+name+"' is missing or blank")
		}
	}
	blank("routing_key", in.RoutingKey)
	switch in.Action {
	case "trigger":
		blank("payload.summary", in.Payload.Summary)
		blank("payload.source", in.Payload.Source)
		if !slices.Contains([]string{"critical", "error", "warning", "info"}, in.Payload.Severity) {
			faults = append(faults, "'payload.severity' is invalid (must be one of the following: 'critical', 'error', 'warning' or 'info')")
		}
	case "acknowledge", "resolve":
		blank("dedup_key", in.DedupKey)
	default:
		faults = append(faults, "'event_action' is invalid (must be one of the following: 'trigger', 'acknowledge' or 'resolve')")
	}
	if strings.ContainsAny(in.DedupKey, "\n\r\x00") {
		faults = append(faults, "'dedup_key' is invalid (must be one line)")
	}
	if len(in.DedupKey) > keyMax {
		faults = append(faults, fmt.Sprintf("'dedup_key' is too long (maximum is %d bytes)", keyMax))
	}
	return faults
}

// event is what a trigger says. A time that cannot be read is replaced by the present.
func (in *enqueue) event(d Defaults) Event {
	e := Event{
		Action: Fire, Key: in.DedupKey, Severity: SeverityOf(in.Payload.Severity), Title: cut(strings.Join(strings.Fields(in.Payload.Summary), " "), titleMax),
		Text: cut(list(in.Payload.Details), textMax), Labels: map[string]string{}, Annotations: map[string]string{}, Starts: d.Now,
	}
	if at, ok := parseTime(in.Payload.Timestamp); ok && !at.IsZero() && at.Before(d.Now) {
		e.Starts = at
	}
	for name, value := range map[string]string{
		"severity": in.Payload.Severity, "source": in.Payload.Source, "component": in.Payload.Component,
		"group": in.Payload.Group, "class": in.Payload.Class, "client": in.Client,
	} {
		if value != "" {
			e.Labels[name] = cut(value, titleMax)
		}
	}
	e.Link(cmp.Or(in.Client, "Source"), in.ClientURL)
	for _, l := range in.Links {
		e.Link(cmp.Or(l.Text, "Link"), l.Href)
	}
	for _, i := range in.Images {
		e.Link(cmp.Or(i.Alt, "Image"), i.Src)
	}
	return e
}

// list writes values by name, one a line, in the order of their names.
func list[V any](values map[string]V) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if b.Len() > textMax { // cut later
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", name, plain(values[name]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain writes a JSON value: texts and numbers as they are, anything else as JSON.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	raw, _ := json.Marshal(value) // never fails: the value was read from JSON
	return string(raw)
}
