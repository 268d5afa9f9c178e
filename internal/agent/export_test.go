package agent

import "sluice/sessions"

// History is a shortened transcript.
type History = history

// HistoryOf shortens a transcript, without tools.
func HistoryOf(messages []sessions.Message, limit int) History {
	return historyOf(messages, limit, false)
}
