package commands

import (
	"fmt"

	"sluice/sessions"
)

// What `/send` sets in a channel counts for its threads too. A thread's own setting comes first, until somebody says
// `/send` in the channel again.

// followAgain makes sessions inherit the `/send` setting of their channel again.
func followAgain(below []sessions.Record) []sessions.Patch {
	inherit := sessions.SendInherit
	patches := make([]sessions.Patch, 0, len(below))
	for _, record := range below {
		patches = append(patches, sessions.Patch{ID: record.ID, SendPolicy: &inherit})
	}
	return patches
}

// threadTerm is a platform's word for a thread.
func threadTerm(channel string) string {
	if channel == "telegram" {
		return "topic"
	}
	return "thread"
}

// conversationTerm is a platform's word for a conversation with threads.
func conversationTerm(channel string) string {
	if channel == "telegram" {
		return "group"
	}
	return "channel"
}

// reach says where `/send` applies.
func reach(route sessions.Route, keyer sessions.Keyer) string {
	part := threadTerm(route.Channel)
	switch {
	case keyer.Global:
		return "in all conversations, because they share one session"
	case route.ChatType == sessions.Direct && keyer.SharesDirect():
		return "in all direct chats of this session"
	case route.ChatType == sessions.Direct:
		return "in this chat"
	case route.Thread != "":
		return "in this " + part
	}
	return "in this " + conversationTerm(route.Channel) + " and its " + part + "s"
}

// included says how many threads lose their own setting.
func included(channel string, below int) string {
	switch {
	case below == 0:
		return ""
	case below == 1:
		return fmt.Sprintf(" That includes 1 %s that had a setting of its own.", threadTerm(channel))
	case below == maxBelow:
		return fmt.Sprintf(" That includes %d %ss that had a setting of their own; send the command again, because there may be more.", below, threadTerm(channel))
	}
	return fmt.Sprintf(" That includes %d %ss that had a setting of their own.", below, threadTerm(channel))
}

// maxBelow is the maximum number of threads whose setting one `/send` removes.
const maxBelow = 1000
