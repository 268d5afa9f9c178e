package markdown

import "strings"

// joiner collects spans and merges adjacent ones of the same look, in linear time.
type joiner struct {
	spans []span
	like  span   // style and link of the text
	text  []byte // of the span that is still growing
}

// add appends a span.
func (j *joiner) add(s span) {
	if s.text == "" {
		return
	}
	s = normal(s)
	j.turn(s)
	j.text = append(j.text, s.text...)
}

// turn starts another span if the look differs.
func (j *joiner) turn(s span) {
	if s.style != j.like.style || s.url != j.like.url {
		j.flush()
		j.like = span{style: s.style, url: s.url}
	}
}

func (j *joiner) flush() {
	if len(j.text) > 0 {
		j.like.text = string(j.text)
		j.spans = append(j.spans, j.like)
		j.text = j.text[:0]
	}
}

// all returns the spans and resets the joiner.
func (j *joiner) all() []span {
	j.flush()
	spans := j.spans
	*j = joiner{text: j.text}
	return spans
}

// normal converts a span to what platforms can show: a link or code, never both, and code on one line.
func normal(s span) span {
	if s.url != "" {
		s.style &^= code
	}
	if s.style&code != 0 {
		s.style = code
		s.text = strings.ReplaceAll(s.text, "\n", " ")
	}
	return s
}
