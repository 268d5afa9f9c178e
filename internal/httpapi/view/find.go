package view

import (
	"slices"
	"strings"
)

// foundMax is how many matches are named.
const foundMax = 1000

// Found names the messages that contain the text.
type Found struct {
	Found []string `json:"found,omitempty" doc:"with find: ids of the messages that contain this text, oldest first; the text of tool calls and their results is not searched"`
	More  bool     `json:"found_more,omitempty" doc:"there are more than 1,000 matches: these are the newest"`
}

// Find looks for a text, in upper or lower case. filter removes from the matches what the caller may not read, so that what is hidden
// is never found.
func Find[T any](all []T, words string, said func(T) (id, text string), filter func([]T) error) (out Found, err error) {
	words = strings.ToLower(strings.TrimSpace(words))
	if words == "" {
		return out, nil
	}
	lacks := func(one T) bool {
		_, text := said(one)
		return !strings.Contains(strings.ToLower(text), words)
	}
	matching := slices.DeleteFunc(slices.Clone(all), lacks)
	if err := filter(matching); err != nil {
		return out, err
	}
	matching = slices.DeleteFunc(matching, lacks)
	if out.More = len(matching) > foundMax; out.More {
		matching = matching[len(matching)-foundMax:]
	}
	for _, one := range matching {
		id, _ := said(one)
		out.Found = append(out.Found, id)
	}
	return out, nil
}
