package attacks_test

import (
	"fmt"
	"regexp"
)

var (
	idLike   = regexp.MustCompile(`\b(?:[a-z]{1,8}_[0-9a-f]{6,}(?:-[0-9a-f-]+)?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`)
	timeLike = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)|\b1[0-9]{9}(?:\.[0-9]+)?\b|\b1[0-9]{12}\b|\b[0-9.]+(?:ms|µs)\b`)
)

// masked names ids by the order in which they appear, and takes times out.
func masked(text string) string { return newMask().text(text) }

// mask names the ids of everything that one observer sees.
type mask struct{ names map[string]string }

func newMask() *mask { return &mask{map[string]string{}} }

func (m *mask) text(text string) string {
	text = timeLike.ReplaceAllString(text, "<time>")
	return idLike.ReplaceAllStringFunc(text, func(id string) string {
		if m.names[id] == "" {
			m.names[id] = fmt.Sprintf("<id%d>", len(m.names)+1)
		}
		return m.names[id]
	})
}
