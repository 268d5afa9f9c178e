package router

import (
	"fmt"

	"sluice/sessions"
)

// What `/send` sets counts for the place where it was said and for everything below it: a channel's word for its threads. A
// thread may have a word of its own, which comes first; the next word of the channel takes it back.

// followAgain lets sessions inherit what `/send` sets above them.
func followAgain(below []sessions.Record) []sessions.Patch {
	inherit := sessions.SendInherit
	patches := make([]sessions.Patch, 0, len(below))
	for _, record := range below {
		patches = append(patches, sessions.Patch{ID: record.ID, SendPolicy: &inherit})
	}
	return patches
}

// partWord is what a part of a conversation is called on a platform.
func partWord(channel string) string {
	if channel == "telegram" {
		return "topic"
	}
	return "thread"
}

// placeWord is what a conversation is called on a platform.
func placeWord(channel string) string {
	if channel == "telegram" {
		return "group"
	}
	return "channel"
}

// reachWord names what `/send` counts for where it is said.
func reachWord(route sessions.Route, keyer sessions.Keyer) string {
	part := partWord(route.Channel)
	switch {
	case keyer.Global:
		return "in all conversations, which are one session"
	case route.ChatType == sessions.Direct && keyer.SharesDirect():
		return "in all direct chats of this session"
	case route.ChatType == sessions.Direct:
		return "in this chat"
	case route.Thread != "":
		return "in this " + part
	}
	return "in this " + placeWord(route.Channel) + " and its " + part + "s"
}

// followWord says what becomes of the threads that had a setting of their own.
func followWord(channel string, below int) string {
	switch {
	case below == 0:
		return ""
	case below == 1:
		return fmt.Sprintf(" That includes 1 %s that had a setting of its own.", partWord(channel))
	case below == sessionsBelowMost:
		return fmt.Sprintf(" That includes %d %ss that had a setting of their own; say it again, as there may be more.", below, partWord(channel))
	}
	return fmt.Sprintf(" That includes %d %ss that had a setting of their own.", below, partWord(channel))
}

// sessionsBelowMost is how many threads one `/send` takes the setting back from.
const sessionsBelowMost = 1000
