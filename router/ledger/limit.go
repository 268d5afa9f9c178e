package ledger

import (
	"time"

	"sluice/policy/flow"
)

// LimitKind says whose messages or requests a limit counts. It is the name of the setting below limits.
type LimitKind string

// What limits count.
const (
	LimitPerson       LimitKind = "perPerson"       // messages of one person, in all chats
	LimitConversation LimitKind = "perConversation" // messages to one conversation, by the key of its sessions
	LimitAgent        LimitKind = "perAgent"        // messages to one agent, and requests of other agents to it
	LimitToken        LimitKind = "perToken"        // requests with one token of the API
)

// Rate is how many are allowed in a period. The zero value means no limit.
type Rate struct {
	Max int
	Per time.Duration
}

// LimitCount names one thing that is counted. What has a level counts for this level and all higher ones, so that nobody
// reaches a limit because of something above their own level.
type LimitCount struct {
	Kind  LimitKind
	Name  string
	Level flow.Level
	Rate  Rate
}
