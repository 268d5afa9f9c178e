package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (k checker) bindings() {
	for i, b := range k.c.Bindings {
		path := fmt.Sprintf("bindings[%d]", i)
		k.channel(path+".match.channel", b.Match.Channel)
		b.Match.check(func(ok bool, key, format string, args ...any) { k.must(ok, path+".match."+key, format, args...) })
		k.must(b.Agent != "", path+".agent", "is missing")
		k.agent(path+".agent", b.Agent)
	}
}

// claim reports what must hold of a key, and how to mend it.
type claim func(ok bool, key, format string, args ...any)

// check checks that the conditions of a match can hold at the same time.
func (m BindingMatch) check(must claim) {
	must(m.Guild == "" || m.Channel == "" || m.Channel == "discord", "guild", "only Discord has guilds: remove it, or set channel to discord")
	must(m.Team == "" || m.Channel == "" || m.Channel == "slack", "team", "only Slack has teams: remove it, or set channel to slack")
	must(m.Guild == "" || m.Team == "", "team", "no conversation is in both a guild and a team: keep one")
	must(m.Peer == "" || m.Group == "", "peer", "a direct chat is not in a group: keep either peer or group")
	m.checkIDs(must)
}

// checkIDs checks that each id has the form of its platform's ids. Other ids never match.
func (m BindingMatch) checkIDs(must claim) {
	if m.Channel == "webchat" {
		must(m.Peer == "" || m.Peer == webchatUser, "peer", "%q: want %q, the user id of everyone in the web chat", m.Peer, webchatUser)
		must(m.Group == "", "group", "the web chat has no groups: remove it, or set another channel")
		return
	}
	shapes, like := slices.Collect(maps.Values(idShapes)), idShapes["telegram"]
	if shape, ok := idShapes[m.Channel]; ok {
		shapes, like = []idShape{shape}, shape
	}
	user := slices.ContainsFunc(shapes, func(s idShape) bool { return s.isUser(m.Peer) })
	user = user || m.Channel == "" && nodeShape.MatchString(m.Peer) // a node's id; nodes are no channel of the configuration
	must(m.Peer == "" || user, "peer", "%q: want only the user id of a person, such as %q", m.Peer, like.userLike)
	group := slices.ContainsFunc(shapes, func(s idShape) bool { return s.isGroup(m.Group) }) && !strings.Contains(m.Group, ":")
	must(m.Group == "" || group, "group", "%q: want only the id of a group or channel, such as %q", m.Group, like.groupLike)
	must(m.Guild == "" || snowflake.MatchString(m.Guild), "guild", "%q: want only the id of a guild, such as %q", m.Guild, idShapes["discord"].groupLike)
	must(m.Team == "" || teamShape.MatchString(m.Team), "team", "%q: want only the id of a workspace, such as \"T024BE7LH\"", m.Team)
}
