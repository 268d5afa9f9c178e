package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice/sessions"
)

// The roles of messages.
const (
	roleSystem    = "system"
	roleDeveloper = "developer"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// said is one message of a request.
type said struct {
	role string
	text string
	call string // of a tool: the id of the call
}

// part is a part of a message's content.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// textOf is the text of a message's content, which is a text or a list of parts; at is its place in the request.
func textOf(at string, content json.RawMessage) (string, error) {
	if absent(content) {
		return "", nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []part
	if json.Unmarshal(content, &parts) != nil {
		return "", refuse(at, codeInvalid, "want a text, or a list of parts that have a type")
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text", "summary_text":
			texts[i] = p.Text
		case "refusal":
			texts[i] = p.Refusal
		default:
			return "", refuse(fmt.Sprintf("%s[%d]", at, i), codeInvalid, "the type %.40q is not taken here; send text alone", p.Type)
		}
	}
	return strings.Join(texts, "\n"), nil
}

// What a new session is told of a conversation that the client keeps: this many of the newest messages, and bytes of them.
const (
	earlierMessages = 40
	earlierBytes    = 48 << 10
)

// turn is what a session is told.
type turn struct {
	at         string // its place in the request
	text       string
	quotations []sessions.Quotation
	results    []result // of the functions that the agent has called
	functions  []sessions.Function
}

// turnOf finds the turn in the messages at a place of a request: the last one, after the instructions of the program, or the
// results of the agent's calls. The messages before it are quoted.
func turnOf(at string, all []said) (turn, error) {
	var instructions []string
	var talk []said
	for _, s := range all {
		switch {
		case s.role == roleSystem || s.role == roleDeveloper:
			instructions = append(instructions, s.text)
		default:
			talk = append(talk, s)
		}
	}
	if results, text, ok := resultsOf(talk); ok {
		if text != "" {
			instructions = append(instructions, text)
		}
		return turn{at: at, text: strings.Join(instructions, "\n\n"), results: results}, nil
	}
	if len(talk) == 0 || talk[len(talk)-1].role != roleUser {
		return turn{}, refuse(at, codeInvalid, "the last message must be one of the role user, because the agent replies to it")
	}
	last := talk[len(talk)-1]
	if strings.TrimSpace(last.text) == "" {
		return turn{}, refuse(at, codeInvalid, "the last message is empty")
	}
	return turn{at: at, text: strings.Join(append(instructions, last.text), "\n\n"), quotations: quoted(talk[:len(talk)-1])}, nil
}

// resultsOf are the results behind the agent's last message, with what the user says after them. Results of calls that this gateway has
// not made are no results for it if the user has said more.
func resultsOf(talk []said) (results []result, text string, ok bool) {
	var texts []string
	for _, s := range slices.Backward(talk) {
		if s.role == roleAssistant {
			break
		}
		if s.role == roleUser {
			texts = append(texts, s.text)
			continue
		}
		if _, own := runOfCall(s.call); !own && talk[len(talk)-1].role == roleUser {
			return nil, "", false
		}
		results = append(results, result{s.call, s.text})
	}
	slices.Reverse(results)
	slices.Reverse(texts)
	return results, strings.TrimSpace(strings.Join(texts, "\n\n")), len(results) > 0
}

// quoted are earlier messages as quotations: the newest that fit.
func quoted(all []said) (out []sessions.Quotation) {
	space := earlierBytes
	all = slices.DeleteFunc(slices.Clone(all), func(s said) bool { return strings.TrimSpace(s.text) == "" })
	for i, s := range slices.Backward(all) {
		if len(out) == earlierMessages || space < len(s.text) && len(out) > 0 {
			out = append(out, quotation("the gateway", fmt.Sprintf("Earlier messages that are left out: %d. You are told the newest %d, of at most %d KiB.", i+1, earlierMessages, earlierBytes>>10)))
			break
		}
		space -= len(s.text)
		out = append(out, quotation(writer(s.role), s.text))
	}
	slices.Reverse(out)
	return out
}

func quotation(from, text string) sessions.Quotation {
	return sessions.Quotation{Kind: sessions.QuoteThread, From: sessions.Peer{Name: from}, Text: text}
}

// writer says to the agent whose words those of a role are.
func writer(role string) string {
	switch role {
	case roleUser:
		return "the user"
	case roleAssistant:
		return "you"
	}
	return "a tool"
}
