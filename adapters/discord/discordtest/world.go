package discordtest

import (
	"strconv"
	"time"
)

// The places that exist, and the bot itself. Any other channel number is the direct chat of a person, whose id is the number
// minus [DirectBase].
const (
	BotID         = "1000000"
	AppID         = "1000001" // not the bot's own id, as for old bots
	GuildID       = "4199304" // its events come to shard 1, where there are several
	General       = "6000"    // text channel
	Forum         = "6100"
	ThreadID      = "6200" // a thread in General
	PostID        = "6300" // a thread in Forum
	BotRole       = "7000" // the role that Discord made for the bot
	StaffRole     = "7001" // a role that the bot has too
	MemberRole    = "7002" // one that it has not
	DirectBase    = 1_000_000_000
	discordEpoch  = 1_420_070_400_000
	kindText      = 0
	kindDirect    = 1
	kindThread    = 11
	kindForum     = 15
	typeReply     = 19
	typeDefault   = 0
	flagEphemeral = 64
)

// guildNumber is GuildID.
const guildNumber = 1<<22 + 5000

// DirectID returns the channel of the direct chat with a person.
func DirectID(person int) string { return strconv.Itoa(DirectBase + person) }

// obj is a JSON object.
type obj = map[string]any

// world is what exists on the platform.
type world struct {
	channels map[string]*channel
	people   map[string]obj      // user id to user
	roles    map[string][]string // user id to the ids of its roles in the guild
	hidden   bool                // its members are not shown
	hooks    map[string]*hook    // token of an interaction to the response
}

type channel struct {
	id, name, guild, parent string
	kind                    int
	person                  string // of a direct chat
	messages                []*post
}

// post is one message as the fake keeps it.
type post struct {
	raw     obj // as the API gives it
	channel *channel
	id      string
	nonce   string
	own     bool
	deleted bool
	content map[string][]byte // of its files, by name
	mine    []string          // the bot's reactions
	private bool
	at      time.Time
}

// hook is the destination of a slash command's answer.
type hook struct {
	channel  *channel
	acked    bool
	original *post
	made     time.Time
}

func newWorld() world {
	w := world{channels: map[string]*channel{}, people: map[string]obj{}, roles: map[string][]string{}, hooks: map[string]*hook{}}
	for _, c := range []*channel{
		{id: General, name: "general", guild: GuildID, kind: kindText},
		{id: Forum, name: "help", guild: GuildID, kind: kindForum},
		{id: ThreadID, name: "a thread", guild: GuildID, parent: General, kind: kindThread},
		{id: PostID, name: "a question", guild: GuildID, parent: Forum, kind: kindThread},
	} {
		w.channels[c.id] = c
	}
	w.roles[BotID] = []string{BotRole, StaffRole}
	for _, id := range []string{"1001", "1002", "1003"} { // members from the beginning
		w.user(id)
	}
	return w
}

func botUser() obj {
	return obj{"id": BotID, "username": "sluice", "global_name": "Sluice", "discriminator": "0", "bot": true, "avatar": nil}
}

// channel returns a place by its id, or nil. It creates direct chats.
func (w *world) channel(id string) *channel {
	if c := w.channels[id]; c != nil {
		return c
	}
	n, err := strconv.Atoi(id)
	if err != nil || n <= DirectBase {
		return nil
	}
	c := &channel{id: id, kind: kindDirect, person: strconv.Itoa(n - DirectBase)}
	w.channels[id] = c
	return c
}

// user returns a person. It creates an unknown one, with a name made of the id.
func (w *world) user(id string) obj {
	if id == BotID {
		return botUser()
	}
	if w.people[id] == nil {
		w.people[id] = obj{"id": id, "username": "person" + id, "global_name": "Person " + id, "discriminator": "0", "avatar": nil}
	}
	return w.people[id]
}

func (w *world) member(id string) obj {
	return obj{
		"user": w.user(id), "nick": nil, "roles": append([]string{}, w.roles[id]...), "joined_at": "2020-01-01T00:00:00Z",
		"deaf": false, "mute": false, "flags": 0,
	}
}

func (w *world) json(c *channel) obj {
	out := obj{"id": c.id, "type": c.kind}
	if c.kind == kindDirect {
		out["recipients"] = []obj{w.user(c.person)}
		return out
	}
	out["name"], out["guild_id"] = c.name, c.guild
	if c.parent != "" {
		out["parent_id"] = c.parent
	}
	return out
}

func (w *world) guild() obj {
	roles := []obj{
		{"id": GuildID, "name": "@everyone", "permissions": "0"},
		{"id": BotRole, "name": "Sluice", "permissions": "0", "managed": true, "tags": obj{"bot_id": BotID}},
		{"id": StaffRole, "name": "Staff", "permissions": "18446744073709551616"}, // a bit that no int64 holds
		{"id": MemberRole, "name": "Member", "permissions": "0"},
	}
	var channels, threads []obj
	for _, id := range []string{General, Forum} {
		channels = append(channels, without(w.json(w.channels[id]), "guild_id"))
	}
	for _, id := range []string{ThreadID, PostID} {
		threads = append(threads, without(w.json(w.channels[id]), "guild_id"))
	}
	return obj{
		"id": GuildID, "name": "The Guild", "premium_tier": 0, "roles": roles, "channels": channels, "threads": threads,
		"members": []obj{w.member(BotID)}, "unavailable": false,
	}
}

func without(o obj, key string) obj {
	delete(o, key)
	return o
}

// newID makes an id of the current time, above all earlier ones. The caller holds mu.
func (s *Server) newID() string {
	s.nextID = max(s.nextID+1, uint64(time.Now().UnixMilli()-discordEpoch)<<22)
	return strconv.FormatUint(s.nextID, 10)
}
