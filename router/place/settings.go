package place

import (
	"cmp"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// ExchangeSettings bound what agents may cause in one another.
type ExchangeSettings struct {
	MaxTurns  int // answers to each other after the first; at most [announce.TurnsMax]
	MaxHops   int // sessions that one chain passes through
	MaxSteps  int // runs of one chain
	MaxTokens int // of all runs of one chain, in and out
	MaxAge    time.Duration

	MaxTasks     int           // sub-agents at work at once in this process
	MaxChildren  int           // tasks of one session that have not ended
	ArchiveAfter time.Duration // a sub-agent's session ends so long after its report; 0: never
}

// Spent says which bound a chain has reached; empty if none.
func (s ExchangeSettings) Spent(u ledger.ChainUse, now time.Time) string {
	switch {
	case u.ID == "":
		return ""
	case s.MaxSteps > 0 && u.Steps >= s.MaxSteps:
		return "the agents have reached the maximum number of steps for one request"
	case s.MaxTokens > 0 && u.Tokens >= s.MaxTokens:
		return "the agents have reached the maximum number of tokens for one request"
	case s.MaxAge > 0 && now.Sub(u.Started) >= s.MaxAge:
		return "the agents have reached the maximum time for one request"
	}
	return ""
}

// OwnersOn are the owners on a channel.
func (s *Settings) OwnersOn(channel string) []sessions.UserID {
	var ids []sessions.UserID
	for _, o := range s.Owners {
		if c, id, ok := sessions.ParsePrincipal(o); ok && c == channel {
			ids = append(ids, id)
		}
	}
	return ids
}

// Retention says how long what has ended is kept; 0 keeps for ever.
type Retention struct{ Events, Runs, Deliveries, Sessions, Archived, Media time.Duration }

// Settings is what the configuration says to the router. It is never changed
// after it was given; a new configuration is a new Settings.
type Settings struct {
	Owners   []string // principals, "<channel>:<user id>"
	Channels map[string]ChannelSettings
	Bindings []Binding
	Agent    string // of what no binding matches
	Keyer    sessions.Keyer
	Queue    queue.Settings
	Reset    ResetSettings

	Exchanges ExchangeSettings

	Clearance flow.Level // that an owner's session may reach; invalid: all

	RunTimeout    time.Duration // of one run, from its start
	DeliveryLife  time.Duration // from queued to expired
	Retention     Retention
	MaxTextBytes  int // of one inbound message; a longer one is refused and its sender told
	MaxMediaBytes int // of one file on its way out; 0: no bound

	SessionFileBytes int64 // that the stored attachments of one session may take; 0: no bound
	ProgramFileBytes int64 // the same for the files of all proactive messages

	HistoryKeep   int // unmentioned messages kept a group
	MaxRunAttempt int // starts of one run before it counts as poisonous
}

// ChannelSettings says who may talk on a channel.
type ChannelSettings struct {
	DMPolicy    AccessPolicy
	GroupPolicy AccessPolicy
	AllowFrom   []string                 // user ids; "*" is anyone
	Groups      map[string]GroupSettings // by conversation id; "*" is any other
	Spaces      map[string]GroupSettings // by [sessions.Route.Space]
	AllowBots   BotPolicy
	OnUnknown   UnknownPolicy
	AckReaction string // emoji on a message that was heard; empty: none
	AckRemove   bool   // it is taken off when the run has ended
}

// GroupSettings are those of a group, or of all groups of a space.
type GroupSettings struct {
	RequireMention bool
	AllowFrom      []string // user ids that are heard; "*" is anyone
	AllowRoles     []string // ids of roles whose holders are heard
	Topics         map[string]TopicSettings
}

// restricts reports whether not everybody in the group is heard.
func (g GroupSettings) restricts() bool { return len(g.AllowFrom) > 0 || len(g.AllowRoles) > 0 }

// TopicSettings are those of one topic or thread of a group.
type TopicSettings struct {
	RequireMention bool
}

// BotPolicy says which other bots are heard; empty is none.
type BotPolicy string

// The bot policies.
const (
	BotsOff      BotPolicy = "off"
	BotsMentions BotPolicy = "mentions" // those that mention this one
	BotsOn       BotPolicy = "on"
)

// AccessPolicy says who is admitted.
type AccessPolicy string

// The access policies. Pairing is for direct chats only.
const (
	AccessPairing   AccessPolicy = "pairing"
	AccessAllowlist AccessPolicy = "allowlist"
	AccessOpen      AccessPolicy = "open"
	AccessDisabled  AccessPolicy = "disabled"
)

// UnknownPolicy says what follows when a platform's answer to a send was lost.
type UnknownPolicy string

// The choices: send it again (it may then be there twice), or hold it for a person to decide.
const (
	UnknownResend UnknownPolicy = "resend"
	UnknownHold   UnknownPolicy = "hold"
)

// Binding sends what matches to an agent; an empty field matches anything.
type Binding struct {
	Channel, Account, Peer, Group, Space string
	Agent                                string
}

// IsOwner reports whether a peer of a channel is one of the owners.
func (s *Settings) IsOwner(channel string, id sessions.UserID) bool {
	return slices.Contains(s.Owners, sessions.Principal(channel, id))
}

// agentsFor is the agent that hears what a peer says in a conversation. It is
// more than one, the only certain one last, where a binding wants a space and the
// route, written by a program, does not say in which one the conversation is.
func (s *Settings) agentsFor(route sessions.Route, peer sessions.UserID) []string {
	var agents []string
	for _, b := range s.Bindings {
		if !b.matches(route, peer) {
			continue
		}
		agents = append(agents, b.Agent)
		if b.Space == "" || route.Space != "" {
			return agents
		}
	}
	return append(agents, s.Agent)
}

func (b Binding) matches(route sessions.Route, peer sessions.UserID) bool {
	return (b.Channel == "" || b.Channel == route.Channel) &&
		(b.Account == "" || b.Account == route.Account) &&
		(b.Space == "" || b.Space == route.Space || (route.Space == "" && route.ChatType != sessions.Direct)) &&
		(b.Peer == "" || (route.ChatType == sessions.Direct && b.Peer == string(peer))) &&
		(b.Group == "" || (route.ChatType != sessions.Direct && b.Group == string(route.Conversation)))
}

// clearance is the highest level that a session started by this peer may reach.
func (s *Settings) clearance(owner bool, sink flow.Level) flow.Level {
	most := s.Clearance
	if !most.Valid() {
		most = flow.Restricted
	}
	if owner {
		return most
	}
	return flow.Min(most, sink)
}

// QueueMode is a session's queue mode.
func (s *Settings) QueueMode(record sessions.Record) sessions.QueueMode {
	return cmp.Or(record.QueueMode, s.Queue.Mode)
}

// SharedMain is what to tell who lets others in where the direct chats of different people are one session,
// their owner's too: what that means, and the setting that separates them. Empty where each person has a session.
func SharedMain(k sessions.Keyer) string {
	const means = ": everyone who is admitted shares the owner's session and can ask what was said there. To give each person their own session, set "
	switch {
	case !k.SharesDirect():
		return ""
	case k.Global:
		return "All conversations with an agent share one session (`session.scope: global`)" + means + "`session.scope: per-sender` and `session.dmScope: per-account-channel-peer`."
	}
	return "All direct chats with an agent share one session (`session.dmScope: main`)" + means + "`session.dmScope: per-account-channel-peer`."
}

// WarnShared puts what [SharedMain] says below a text.
func (s *Settings) WarnShared(text string) string {
	if shared := SharedMain(s.Keyer); shared != "" {
		return text + "\n\n**Mind:** " + shared
	}
	return text
}
