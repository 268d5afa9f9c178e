package view

import (
	"slices"
	"strings"
)

const (
	// foundMax is how many matches are named.
	foundMax = 1000
	// findStep is how many matches are filtered at a time: each may take a look into the store.
	findStep = 500
)

// Found names the messages that contain the text.
type Found struct {
	Found []string `json:"found,omitempty" doc:"with find: ids of the messages that contain this text, oldest first; the text of tool calls and their results is not searched"`
	More  bool     `json:"found_more,omitempty" doc:"there are more than 1,000 matches: these are the newest"`
}

// Find looks for a text, in upper or lower case, the newest matches first until it has enough. filter removes from the matches what the
// caller may not read, so that what is hidden is never found.
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
	for end := len(matching); end > 0 && len(out.Found) <= foundMax; {
		start := max(0, end-findStep)
		some := matching[start:end]
		if err := filter(some); err != nil {
			return Found{}, err
		}
		for _, one := range slices.Backward(some) {
			if !lacks(one) {
				id, _ := said(one)
				out.Found = append(out.Found, id)
			}
		}
		end = start
	}
	out.More = len(out.Found) > foundMax
	out.Found = out.Found[:min(len(out.Found), foundMax)]
	slices.Reverse(out.Found)
	return out, nil
}
