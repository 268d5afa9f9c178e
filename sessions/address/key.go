package address

import (
	"fmt"
	"strings"
)

// Key is a session's name in its canonical form. Platform ids in it keep their
// case. The reserved words "global" and "unknown" never appear as keys.
//
//	agent:<agent>:<mainKey>                                      main direct chat
//	agent:<agent>:direct:<peer>                                  dmScope per-peer
//	agent:<agent>:<channel>:direct:<peer>                        dmScope per-channel-peer
//	agent:<agent>:<channel>:<account>:direct:<peer>              dmScope per-account-channel-peer
//	agent:<agent>:<channel>:group|channel:<id>[:thread|topic:<id>]
//	agent:<agent>:http:<uuid>                                    made over HTTP
//	agent:<agent>:subagent:<uuid> · cron:<job> · hook:<uuid> · node-<id>
type Key string

// KeyKind is the kind that sessions_list filters by.
type KeyKind string

// The key kinds.
const (
	KindMain  KeyKind = "main"
	KindGroup KeyKind = "group"
	KindCron  KeyKind = "cron"
	KindHook  KeyKind = "hook"
	KindNode  KeyKind = "node"
	KindOther KeyKind = "other"
)

// MainAlias is the key under which every caller may name its agent's main session.
const MainAlias = "main"

const (
	maxKeyBytes = 512 // long enough for any platform's ids, short enough for an index
	agentPrefix = "agent:"
	nodeChannel = "node"
	nodePrefix  = "node-"
)

// DMScope says which direct chats share a session.
type DMScope string

// The scopes of direct chats.
const (
	ScopeMain                  DMScope = "main"
	ScopePerPeer               DMScope = "per-peer"
	ScopePerChannelPeer        DMScope = "per-channel-peer"
	ScopePerAccountChannelPeer DMScope = "per-account-channel-peer"
)

// Keyer makes keys from routes as configured.
type Keyer struct {
	// Global puts everything said to an agent into one session, its main session, from all people and places.
	Global  bool
	Scope   DMScope
	MainKey string // default "main"
	// Links names the people who have several ids: by principal, "<channel>:<user id>". The
	// name takes the place of an id in keys; no platform uses it as an id.
	Links map[string]string
}

// Main is an agent's main session.
func (k Keyer) Main(agent string) Key {
	main := k.MainKey
	if main == "" {
		main = MainAlias
	}
	return Key(agentPrefix + agent + ":" + main)
}

// SharesDirect reports whether the direct chats of different people with an agent are one session.
func (k Keyer) SharesDirect() bool {
	switch k.Scope {
	case ScopePerPeer, ScopePerChannelPeer, ScopePerAccountChannelPeer:
		return k.Global
	default:
		return true
	}
}

// Key names the session that hears what comes in by route from peer.
func (k Keyer) Key(agent string, route Route, peer UserID) Key {
	if route.Channel == nodeChannel {
		return Key(nodePrefix + string(route.Conversation)) // a session of its own, whatever the scope
	}
	if k.Global {
		return k.Main(agent)
	}
	base := agentPrefix + agent + ":"
	if route.ChatType != Direct {
		key := base + route.Channel + ":" + string(route.ChatType) + ":" + string(route.Conversation)
		if route.Thread != "" {
			key += ":" + threadWord(route.Channel) + ":" + string(route.Thread)
		}
		return Key(key)
	}
	who := string(peer)
	if name, ok := k.Links[Principal(route.Channel, peer)]; ok {
		who = name
	}
	switch k.Scope {
	case ScopePerPeer:
		return Key(base + "direct:" + who)
	case ScopePerChannelPeer:
		return Key(base + route.Channel + ":direct:" + who)
	case ScopePerAccountChannelPeer:
		return Key(base + route.Channel + ":" + route.Account + ":direct:" + who)
	default:
		return k.Main(agent)
	}
}

// Resolve reads a key that a person or tool wrote; agent is the caller's. It
// resolves the names of a main session and checks the shape, not whether the session
// exists. Those names are "main" and the configured main key, alone for the caller's or
// behind "agent:<agent>:" for any agent's, and the reserved word "global".
func (k Keyer) Resolve(s, agent string) (Key, error) {
	if k.namesMain(s) || s == reservedGlobal {
		return k.Main(agent), nil
	}
	key, err := ParseKey(s)
	if err == nil && key.Agent() != "" && k.namesMain(key.Bare()) {
		return k.Main(key.Agent()), nil
	}
	return key, err
}

// namesMain reports whether a key's last part means an agent's main session.
func (k Keyer) namesMain(s string) bool { return s == MainAlias || s != "" && s == k.MainKey }

// threadWord is what the platform calls a part of a conversation.
func threadWord(channel string) string {
	if channel == "telegram" {
		return "topic"
	}
	return "thread"
}

// ParseKey checks a canonical key.
func ParseKey(s string) (Key, error) {
	if len(s) > maxKeyBytes {
		return "", fmt.Errorf("session key is %d bytes long, the maximum is %d", len(s), maxKeyBytes)
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == '\uFFFD' {
			return "", fmt.Errorf("session key %q: has a space or an unprintable character", s)
		}
	}
	switch {
	case reserved(s):
		return "", fmt.Errorf("session key %q is reserved", s)
	case strings.HasPrefix(s, agentPrefix):
		agent, rest, ok := strings.Cut(strings.TrimPrefix(s, agentPrefix), ":")
		switch {
		case !ok || !validAgent(agent) || strings.HasPrefix(rest, ":") || strings.HasSuffix(rest, ":") || rest == "":
			return "", fmt.Errorf("session key %q: want agent:<agent>:<rest>", s)
		case reserved(rest) || rest == subAgentName:
			return "", fmt.Errorf("session key %q: %q is reserved", s, rest)
		}
	case strings.HasPrefix(s, "cron:") && len(s) > len("cron:"),
		strings.HasPrefix(s, "hook:") && len(s) > len("hook:"),
		strings.HasPrefix(s, "node-") && len(s) > len("node-"):
	default:
		return "", fmt.Errorf("session key %q: want main, agent:…, cron:…, hook:… or node-…", s)
	}
	return Key(s), nil
}

// The reserved words. No session has them for a key, neither alone nor behind its agent.
const (
	reservedGlobal  = "global"
	reservedUnknown = "unknown"
)

func reserved(s string) bool { return s == reservedGlobal || s == reservedUnknown }

// validAgent reports whether a word can be an agent's id: at most 64 of a-z 0-9 _ -, the first no sign.
func validAgent(s string) bool {
	for i, r := range s {
		word := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !word && (i == 0 || r != '_' && r != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// SubAgentKey names the session of a sub-agent; id is new for each.
func SubAgentKey(agent, id string) Key {
	return Key(agentPrefix + agent + subAgentWord + id)
}

// Agent is the agent that the key belongs to; empty for keys that name none.
func (k Key) Agent() string {
	rest, ok := strings.CutPrefix(string(k), agentPrefix)
	if !ok {
		return ""
	}
	agent, _, _ := strings.Cut(rest, ":")
	return agent
}

// Unattended reports whether the session works without a person who talks in it: for a job, a hook, a node or another session.
func (k Key) Unattended() bool {
	for _, begin := range []string{"cron:", "hook:", "node-"} {
		if strings.HasPrefix(string(k), begin) {
			return true
		}
	}
	return k.SubAgent()
}

// Kind is what sessions_list calls the session.
func (k Key) Kind(keyer Keyer) KeyKind {
	s := string(k)
	switch {
	case strings.HasPrefix(s, "cron:"):
		return KindCron
	case strings.HasPrefix(s, "hook:"):
		return KindHook
	case strings.HasPrefix(s, "node-"):
		return KindNode
	case k == keyer.Main(k.Agent()):
		return KindMain
	}
	segments := strings.SplitN(s, ":", 5) // agent, its id, channel, chat type, the rest
	if len(segments) == 5 && (segments[3] == string(Group) || segments[3] == string(Channel)) && channelName(segments[2]) {
		return KindGroup
	}
	return KindOther
}

// channelName reports whether a part of a key can be the name of a channel. After "direct" comes the id of a person.
func channelName(s string) bool {
	return s != string(Direct) && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Bare is the key without its "agent:<agent>:" prefix.
func (k Key) Bare() string {
	if agent := k.Agent(); agent != "" {
		return strings.TrimPrefix(string(k), agentPrefix+agent+":")
	}
	return string(k)
}

// Conversation is the key without the thread or topic, which is a part of its conversation.
func (k Key) Conversation() Key {
	segments := strings.SplitN(string(k), ":", 5) // agent, its id, channel, chat type, the rest
	if len(segments) < 5 || segments[0]+":" != agentPrefix || segments[3] != string(Group) && segments[3] != string(Channel) {
		return k
	}
	for _, word := range []string{":thread:", ":topic:"} {
		if id, _, ok := strings.Cut(segments[4], word); ok && id != "" {
			return Key(strings.Join(append(segments[:4], id), ":"))
		}
	}
	return k
}

// subAgentWord is part of the key of a session that works on a task for another one.
const (
	subAgentName = "subagent"
	subAgentWord = ":" + subAgentName + ":"
)

// SubAgent reports whether the session works a task for another one.
func (k Key) SubAgent() bool {
	agent := k.Agent()
	return agent != "" && strings.HasPrefix(string(k), agentPrefix+agent+subAgentWord)
}
