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
	// findBytes is how much text is searched.
	findBytes = 32 << 20
)

// Found names the messages that contain the text.
type Found struct {
	Found []string `json:"found,omitempty" doc:"with find: ids of the messages that contain this text, oldest first: in what was said and thought, and in tool calls and their results"`
	More  bool     `json:"found_more,omitempty" doc:"there may be more matches: these are the newest 1,000, or those in the newest 32 MiB of text"`
}

// Find looks for a text, in upper or lower case, the newest matches first until it has enough. filter removes from the matches what the
// caller may not read, so that what is hidden is never found.
func Find[T any](all []T, words string, said func(T) (id string, texts []string), filter func([]T) error) (out Found, err error) {
	words = strings.ToLower(strings.TrimSpace(words))
	if words == "" {
		return out, nil
	}
	has := func(one T) (yes bool, size int) {
		_, texts := said(one)
		for _, text := range texts {
			size += len(text)
			yes = yes || strings.Contains(strings.ToLower(text), words)
		}
		return yes, size
	}
	left := findBytes
	for end := len(all); end > 0 && len(out.Found) <= foundMax; {
		var some []T
		for ; end > 0 && len(some) < findStep; end-- {
			if left < 0 {
				out.More, end = true, 0
				break
			}
			yes, size := has(all[end-1])
			left -= size
			if yes {
				some = append(some, all[end-1])
			}
		}
		if err := filter(some); err != nil {
			return Found{}, err
		}
		for _, one := range some {
			if yes, _ := has(one); yes {
				id, _ := said(one)
				out.Found = append(out.Found, id)
			}
		}
	}
	out.More = out.More || len(out.Found) > foundMax
	out.Found = out.Found[:min(len(out.Found), foundMax)]
	slices.Reverse(out.Found)
	return out, nil
}
