package openai

import (
	"strconv"
	"strings"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

// responseEvents writes a turn as the events of a response.
type responseEvents struct {
	out      *wire.Stream
	response responseRecord
	sequence int
	from     int // the number of the first event that the client lacks

	open bool // the last message of the output is being written
	text strings.Builder
}

var _ sink = (*responseEvents)(nil)

// responseEvent is an event of a response. Each type has some of the fields.
type responseEvent struct {
	Type     string `json:"type"`
	Sequence int    `json:"sequence_number" doc:"from 0"`

	Response *responseRecord `json:"response,omitempty"`
	Output   *int            `json:"output_index,omitempty"`
	Item     *outputItem     `json:"item,omitempty"`
	ItemID   string          `json:"item_id,omitempty"`
	Content  *int            `json:"content_index,omitempty"`
	Part     *outputPart     `json:"part,omitempty"`
	Delta    string          `json:"delta,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Name     string          `json:"name,omitempty"`
	Args     string          `json:"arguments,omitempty"`
	Logs     *[]string       `json:"logprobs,omitempty"`
}

func (s *responseEvents) begin() error {
	if err := s.whole("response.created"); err != nil {
		return err
	}
	return s.whole("response.in_progress")
}

func (s *responseEvents) beat() error { return s.out.Beat() }

func (s *responseEvents) add(text string, next bool) error {
	if next {
		if err := s.closeItem(statusCompleted); err != nil {
			return err
		}
	}
	if err := s.openItem(); err != nil {
		return err
	}
	s.text.WriteString(text)
	return s.send(s.ofPart("response.output_text.delta", func(e *responseEvent) { e.Delta, e.Logs = text, &[]string{} }))
}

func (s *responseEvents) end(end conversation.End) error {
	if len(end.Calls) == 0 { // also a reply of nothing is a message
		if err := s.openItem(); err != nil {
			return err
		}
	}
	if err := s.closeItem(itemStatus(end)); err != nil {
		return err
	}
	for _, call := range end.Calls {
		if err := s.call(call); err != nil {
			return err
		}
	}
	s.response.close(end)
	return s.whole("response." + s.response.Status)
}

func (s *responseEvents) fail(why *wire.Error) error {
	s.response.fail(why)
	return s.whole("response.failed")
}

// call sends a call of a function as an item of the output.
func (s *responseEvents) call(call sessions.ClientCall) error {
	item, index, none := callItem(call), len(s.response.Output), ""
	s.response.Output = append(s.response.Output, item)
	begun := item
	begun.Status, begun.Arguments = statusProgress, &none
	for _, e := range []responseEvent{
		{Type: "response.output_item.added", Output: &index, Item: &begun},
		{Type: "response.function_call_arguments.delta", Output: &index, ItemID: item.ID, Delta: *item.Arguments},
		{Type: "response.function_call_arguments.done", Output: &index, ItemID: item.ID, Name: item.Name, Args: *item.Arguments},
		{Type: "response.output_item.done", Output: &index, Item: &item},
	} {
		if err := s.send(e); err != nil {
			return err
		}
	}
	return nil
}

// openItem begins a message unless one is open.
func (s *responseEvents) openItem() error {
	if s.open {
		return nil
	}
	s.open = true
	s.text.Reset()
	item := s.response.message("msg_"+strings.TrimPrefix(s.response.ID, responsePrefix)+"_"+strconv.Itoa(len(s.response.Output)), statusProgress)
	index := len(s.response.Output) - 1
	if err := s.send(responseEvent{Type: "response.output_item.added", Output: &index, Item: &item}); err != nil {
		return err
	}
	part := textPart("")
	return s.send(s.ofPart("response.content_part.added", func(e *responseEvent) { e.Part = &part }))
}

// closeItem ends the message that is open.
func (s *responseEvents) closeItem(status string) error {
	if !s.open {
		return nil
	}
	s.open = false
	text := s.text.String()
	part := textPart(text)
	index := len(s.response.Output) - 1
	item := &s.response.Output[index]
	item.Status, item.Content = status, []outputPart{part}
	for _, e := range []responseEvent{
		s.ofPart("response.output_text.done", func(e *responseEvent) { e.Text, e.Logs = &text, &[]string{} }),
		s.ofPart("response.content_part.done", func(e *responseEvent) { e.Part = &part }),
		{Type: "response.output_item.done", Output: &index, Item: item},
	} {
		if err := s.send(e); err != nil {
			return err
		}
	}
	return nil
}

// ofPart is an event about the only part of the last message.
func (s *responseEvents) ofPart(kind string, fill func(e *responseEvent)) responseEvent {
	index, first := len(s.response.Output)-1, 0
	e := responseEvent{Type: kind, Output: &index, ItemID: s.response.Output[index].ID, Content: &first}
	fill(&e)
	return e
}

// whole sends the response as it is now.
func (s *responseEvents) whole(kind string) error {
	return s.send(responseEvent{Type: kind, Response: &s.response})
}

func (s *responseEvents) send(e responseEvent) error {
	e.Sequence = s.sequence
	s.sequence++
	if e.Sequence < s.from {
		return nil
	}
	return s.out.Event("", e.Type, e)
}
