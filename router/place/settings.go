package place

import (
	"cmp"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// ExchangeSettings bound what agents may make each other do.
type ExchangeSettings struct {
	MaxTurns  int // answers to each other after the first; at most [announce.TurnsMax]
	MaxHops   int // sessions that one chain passes through
	MaxSteps  int // runs per chain
	MaxTokens int // of all runs of a chain, input and output
	MaxAge    time.Duration

	MaxTasks     int           // sub-agents that work at the same time in this process
	MaxChildren  int           // unfinished tasks per session
	ArchiveAfter time.Duration // how long after its report a sub-agent's session is archived; 0: never
}

// Spent names the limit that a chain has reached. It returns an empty text while the chain is below all limits.
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

// FirstOwner is who the target "owner" without a channel means: the first owner on a platform, else the first on the page.
func FirstOwner(owners []string) (channel string, id sessions.UserID, ok bool) {
	for _, who := range owners {
		c, user, valid := sessions.ParsePrincipal(who)
		if valid && (!ok || channel == adapters.Page && c != adapters.Page) {
			channel, id, ok = c, user, true
		}
	}
	return channel, id, ok
}

// Retention says how long ended things are kept; 0 keeps them forever.
type Retention struct {
	Events, Runs, Deliveries, Sessions, Archived, Memories, Media, Usage time.Duration
	Limits                                                               time.Duration // since their windows began
}

// Settings is the configuration of the router. It is immutable; a new configuration is a new Settings.
type Settings struct {
	Owners   []string // principals, "<channel>:<user id>"
	Channels map[string]ChannelSettings
	Bindings []Binding
	Agent    string                         // used if no binding matches
	Guests   map[string]sessions.FileAccess // by agent: to its shared files, of sessions in which others than an owner speak
	Keyer    sessions.Keyer
	Queue    queue.Settings
	Reset    ResetSettings

	Exchanges ExchangeSettings

	Clearance flow.Level // maximum for an owner's session; invalid: all levels

	RunTimeout    time.Duration // of one run, from its start
	DeliveryLife  time.Duration // from queued to expired
	Retention     Retention
	MaxTextBytes  int // of one inbound message; a longer one is refused, and its sender is told
	MaxMediaBytes int // of one outgoing file; 0: no limit

	SessionFileBytes int64 // for the stored attachments of one session; 0: no limit
	ProgramFileBytes int64 // for the files of all proactive messages; 0: no limit

	Limits Limits

	HistoryKeep   int // unmentioned messages kept per group
	MaxRunAttempt int // starts of one run before it counts as a poison message
}

// Limits bound how many messages are answered in a period.
type Limits struct {
	Person, Conversation, Agent ledger.Rate
}

// On reports whether messages are counted.
func (l Limits) On() bool { return l != Limits{} }

// ChannelSettings says who may talk on a channel.
type ChannelSettings struct {
	DMPolicy    AccessPolicy
	GroupPolicy AccessPolicy
	AllowFrom   []string                 // user ids; "*" is anyone
	Groups      map[string]GroupSettings // by conversation id; "*" is any other
	Spaces      map[string]GroupSettings // by [sessions.Route.Space]
	AllowBots   BotPolicy
	OnUnknown   UnknownPolicy
	AckReaction string // emoji on received messages; may be empty
	AckRemove   bool   // whether it is removed when the run has ended
}

// GroupSettings are those of a group, or of all groups of a space.
type GroupSettings struct {
	RequireMention bool
	AllowFrom      []string // user ids that are admitted; "*" is anyone
	AllowRoles     []string // ids of roles whose members are admitted
	Topics         map[string]TopicSettings
}

// restricts reports whether the group admits only listed people.
func (g GroupSettings) restricts() bool { return len(g.AllowFrom) > 0 || len(g.AllowRoles) > 0 }

// TopicSettings are those of one topic or thread of a group.
type TopicSettings struct {
	RequireMention bool
}

// BotPolicy says which other bots are admitted; empty: none.
type BotPolicy string

// The bot policies.
const (
	BotsOff      BotPolicy = "off"
	BotsMentions BotPolicy = "mentions" // those that mention the bot
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

// UnknownPolicy says what to do when a platform's answer to a send was lost.
type UnknownPolicy string

// The choices: send it again (it may then appear twice), or hold it for a person to decide.
const (
	UnknownResend UnknownPolicy = "resend"
	UnknownHold   UnknownPolicy = "hold"
)

// Binding assigns matching conversations to an agent; an empty field matches anything.
type Binding struct {
	Channel, Account, Peer, Group, Space string
	Agent                                string
}

// IsOwner reports whether a peer of a channel is one of the owners.
func (s *Settings) IsOwner(channel string, id sessions.UserID) bool {
	return slices.Contains(s.Owners, sessions.Principal(channel, id))
}

// agentsFor is the agent of a peer's messages in a conversation. There are several, with the only certain one last,
// if a binding names a space and a program's route does not say in which space the conversation is.
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

// clearance is the maximum level of a session that this peer starts.
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

// SharedMain warns a person who gives others access if direct chats of different people share one session, including
// the owner's: what that means, and which setting separates them. Empty if each person has a session.
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

// WarnShared appends the warning of [SharedMain] to a text.
func (s *Settings) WarnShared(text string) string {
	if shared := SharedMain(s.Keyer); shared != "" {
		return text + "\n\n**Note:** " + shared
	}
	return text
}
