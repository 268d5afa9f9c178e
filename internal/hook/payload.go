package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Request is what a hook receives.
type Request struct {
	Type    string            // media type, JSON or a form
	Headers map[string]string // by their names in lower case
	Query   map[string]string
	Payload []byte
}

// Variables are what filters and templates see: payload, headers, query, and hook, which is the hook's name.
type Variables map[string]any

// ErrType is a body of a media type that hooks do not read.
var ErrType = errors.New("want a body of type application/json or application/x-www-form-urlencoded")

// MediaType is the media type of a Content-Type header. Empty means JSON; an error is [ErrType].
func MediaType(header string) (string, error) {
	if header == "" {
		return typeJSON, nil
	}
	kind, parameters, err := mime.ParseMediaType(header)
	if charset := parameters["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", ErrType
	}
	if kind == typeForm || kind == typeJSON || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") {
		return kind, nil
	}
	return "", ErrType
}

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// Read reads a request's payload.
func Read(name string, r Request) (Variables, error) {
	payload, err := readPayload(r.Type, r.Payload)
	if err != nil {
		return nil, err
	}
	return Variables{"hook": name, "payload": payload, "headers": texts(r.Headers), "query": texts(r.Query)}, nil
}

func texts(from map[string]string) map[string]any {
	all := make(map[string]any, len(from))
	for k, v := range from {
		all[k] = v
	}
	return all
}

// nestingMax bounds how deeply a payload's lists and objects are nested.
const nestingMax = 100

func readPayload(kind string, body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not valid UTF-8")
	}
	if kind == typeForm {
		return readForm(body)
	}
	if err := shallow(body); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the body is not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body has more than one JSON value")
	}
	return plain(v), nil
}

// shallow refuses a body whose nesting would use much memory.
func shallow(body []byte) error {
	depth, quoted, escaped := 0, false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			if depth++; depth > nestingMax {
				return fmt.Errorf("the body is nested more than %d times", nestingMax)
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}

// plain turns numbers into integers where they are, so that they are shown and compared as they were written.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		return v.String()
	case map[string]any:
		for key, of := range v {
			v[key] = plain(of)
		}
	case []any:
		for i, of := range v {
			v[i] = plain(of)
		}
	}
	return v
}

// readForm reads a form: a field is a text, or a list of texts if it occurs several times. A field named payload that has JSON, as
// GitHub sends it, is the whole payload.
func readForm(body []byte) (any, error) {
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("the body is not a valid form: %w", err)
	}
	if whole := fields["payload"]; len(fields) == 1 && len(whole) == 1 && json.Valid([]byte(whole[0])) {
		return readPayload(typeJSON, []byte(whole[0]))
	}
	all := make(map[string]any, len(fields))
	for name, values := range fields {
		if len(values) == 1 {
			all[name] = values[0]
			continue
		}
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		all[name] = list
	}
	return all, nil
}
