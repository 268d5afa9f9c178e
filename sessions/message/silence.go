package message

import (
	"slices"
	"strings"
)

// The silent answers. An agent that answers exactly one of them has nothing to say, and nobody is shown the word.
const (
	NoReply      = "NO_REPLY"
	HeartbeatOK  = "HEARTBEAT_OK"  // a heartbeat has found nothing
	ReplySkip    = "REPLY_SKIP"    // ends the turns of an exchange with another agent
	AnnounceSkip = "ANNOUNCE_SKIP" // announces nothing of an exchange
)

func silences() []string { return []string{NoReply, HeartbeatOK, ReplySkip, AnnounceSkip} }

// Silent reports whether an answer says nothing: it is empty or exactly one of the silent answers.
func Silent(answer string) bool { return VisibleText(answer) == "" }

// VisibleText is the part of an answer that people and other agents see: nothing if it is silent.
func VisibleText(answer string) string {
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

// SilenceFilter holds the beginning of an answer back while it may turn out to be silent. Its zero value is ready.
type SilenceFilter struct {
	held     string
	speaking bool
}

// Add takes the next chunk of the answer and returns the text that may be shown now.
func (h *SilenceFilter) Add(piece string) string {
	if h.speaking {
		return piece
	}
	h.held += piece
	if MayBeSilent(h.held) {
		return ""
	}
	h.speaking = true
	return h.held
}

// End ends the answer, and gives what was held back of one that was not silent. The next chunk starts another answer.
func (h *SilenceFilter) End() string {
	rest := h.held
	if h.speaking || Silent(rest) {
		rest = ""
	}
	*h = SilenceFilter{}
	return rest
}
