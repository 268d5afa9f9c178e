package message

import (
	"slices"
	"strings"
)

// The words of silence. An agent that answers exactly one of them has nothing to say, and nobody is shown the word.
const (
	NoReply      = "NO_REPLY"
	ReplySkip    = "REPLY_SKIP"    // ends the turns of an exchange with another agent
	AnnounceSkip = "ANNOUNCE_SKIP" // announces nothing of an exchange
)

func silences() []string { return []string{NoReply, ReplySkip, AnnounceSkip} }

// Silent reports whether an answer says nothing: it is empty or exactly a word of silence.
func Silent(answer string) bool { return Shown(answer) == "" }

// Shown is what people and other agents are shown of an answer: nothing where it is silent.
func Shown(answer string) string {
	answer = strings.TrimSpace(answer)
	if slices.Contains(silences(), answer) {
		return ""
	}
	return answer
}

// MayBeSilent reports whether an answer that is still being written may turn out to be silent.
func MayBeSilent(begun string) bool {
	begun = strings.TrimSpace(begun)
	return slices.ContainsFunc(silences(), func(word string) bool { return strings.HasPrefix(word, begun) })
}

// Hush holds the beginning of an answer back while it may turn out to be silent. Its zero value is ready.
type Hush struct {
	held    string
	talking bool
}

// Add takes the next piece of the answer and gives what may be shown now.
func (h *Hush) Add(piece string) string {
	if h.talking {
		return piece
	}
	h.held += piece
	if MayBeSilent(h.held) {
		return ""
	}
	h.talking = true
	return h.held
}

// End ends the answer, and gives what was held back of one that was not silent. The next piece begins another answer.
func (h *Hush) End() string {
	rest := h.held
	if h.talking || Silent(rest) {
		rest = ""
	}
	*h = Hush{}
	return rest
}
