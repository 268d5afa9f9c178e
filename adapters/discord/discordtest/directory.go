package discordtest

import (
	"net/http"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (c *call) me() { c.answer(botUser()) }

func (c *call) application() {
	flags := 1 << 19
	if c.opts.NoContent || c.opts.HideContent {
		flags = 0
	}
	c.answer(obj{"id": AppID, "name": "Sluice", "flags": flags})
}

func (c *call) gateway() {
	c.answer(obj{"url": c.GatewayURL(), "shards": c.opts.Shards, "session_start_limit": obj{
		"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": c.opts.MaxConcurrency,
	}})
}

func (c *call) putCommands() {
	if id := c.r.PathValue("application_id"); id != AppID {
		c.violate("commands of application %s, the bot's is %s", id, AppID)
	}
	c.mu.Lock()
	c.commands = c.body
	c.mu.Unlock()
	var list []obj
	if c.decode(&list) {
		c.answer(list)
	}
}

// Commands returns the body of the last PUT of the menu's commands.
func (s *Server) Commands() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

func (c *call) openDirect() {
	var b struct {
		Recipient string `json:"recipient_id"`
	}
	if !c.decode(&b) {
		return
	}
	person, err := strconv.Atoi(b.Recipient)
	if err != nil || person <= 0 || person >= DirectBase {
		c.refuse(http.StatusBadRequest, 50033, "Invalid Recipient(s)")
		return
	}
	c.mu.Lock()
	ch := c.world.channel(DirectID(person))
	out := c.world.json(ch)
	c.mu.Unlock()
	c.answer(out)
}

func (c *call) channel() {
	c.mu.Lock()
	ch := c.world.channel(c.r.PathValue("channel_id"))
	var out obj
	if ch != nil {
		out = c.world.json(ch)
	}
	c.mu.Unlock()
	if ch == nil {
		c.refuse(http.StatusNotFound, 10003, "Unknown Channel")
		return
	}
	c.answer(out)
}

func (c *call) guilds() { c.answer([]obj{{"id": GuildID, "name": "The Guild"}}) }

func (c *call) guild() {
	if !c.inGuild() {
		return
	}
	c.mu.Lock()
	out := c.world.guild()
	c.mu.Unlock()
	for _, key := range []string{"channels", "threads", "members"} { // only the gateway's event has them
		delete(out, key)
	}
	c.answer(out)
}

func (c *call) inGuild() bool {
	if c.r.PathValue("guild_id") == GuildID {
		return true
	}
	c.refuse(http.StatusNotFound, 10004, "Unknown Guild")
	return false
}

func (c *call) guildChannels() {
	if !c.inGuild() {
		return
	}
	c.mu.Lock()
	out := []obj{}
	for _, ch := range c.world.channels {
		if ch.guild != "" && ch.kind != kindThread {
			out = append(out, c.world.json(ch))
		}
	}
	c.mu.Unlock()
	c.answer(out)
}

func (c *call) member() {
	if !c.inGuild() {
		return
	}
	c.mu.Lock()
	out := c.world.member(c.r.PathValue("user_id"))
	c.mu.Unlock()
	c.answer(out)
}

func (c *call) members() {
	if c.inGuild() && !c.hidden() {
		c.answer(c.some(func(obj) bool { return true }))
	}
}

func (c *call) hidden() bool {
	c.mu.Lock()
	hidden := c.world.hidden
	c.mu.Unlock()
	if hidden {
		c.refuse(http.StatusForbidden, 50001, "Missing Access")
	}
	return hidden
}

func (c *call) searchMembers() {
	if !c.inGuild() || c.hidden() {
		return
	}
	query := strings.ToLower(c.r.URL.Query().Get("query"))
	c.answer(c.some(func(u obj) bool { return strings.HasPrefix(u["username"].(string), query) }))
}

// some lists the known members, up to the call's limit.
func (c *call) some(want func(user obj) bool) []obj {
	limit, err := strconv.Atoi(or(c.r.URL.Query().Get("limit"), "1"))
	if err != nil || limit < 1 || limit > 1000 {
		c.violate("%s with limit %q", c.r.URL.Path, c.r.URL.Query().Get("limit"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []obj{}
	for id, user := range c.world.people {
		if want(user) && len(out) < limit {
			out = append(out, c.world.member(id))
		}
	}
	return out
}

func (c *call) threadMembers() {
	out := []obj{}
	for _, m := range c.some(func(obj) bool { return true }) {
		out = append(out, obj{"user_id": m["user"].(obj)["id"], "member": m})
	}
	c.answer(out)
}

func (c *call) typing() {
	c.mu.Lock()
	c.typed[c.r.PathValue("channel_id")]++
	c.mu.Unlock()
	c.answer(nil)
}

// Typing returns how often the bot has shown in a channel that it types.
func (s *Server) Typing(channelID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.typed[channelID]
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		s.violate("the bot's token was sent to the file server")
	}
	s.mu.Lock()
	var content []byte
	p := s.find(r.PathValue("channel"), r.PathValue("message"))
	if p != nil {
		content = p.content[r.PathValue("name")]
	}
	s.mu.Unlock()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // the caller may have gone
}
