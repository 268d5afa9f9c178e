package discord

// learn records what an event says about guilds, channels and threads. It ignores other kinds of events.
func (s *shard) learn(f frame) error {
	switch f.Type {
	case "GUILD_CREATE", "GUILD_UPDATE":
		return s.learnGuild(f)
	case "GUILD_DELETE":
		return decodeAndLearn(s, f, func(g guild) {
			if !g.Unavailable { // an outage; otherwise the bot was removed
				s.lookup.places.dropGuild(g.ID)
			}
		})
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		return decodeAndLearn(s, f, func(c channel) { s.lookup.places.putChannel(c) })
	case "CHANNEL_DELETE", "THREAD_DELETE":
		return decodeAndLearn(s, f, func(c channel) { s.lookup.places.dropChannel(c.ID) })
	case "THREAD_LIST_SYNC":
		return decodeAndLearn(s, f, func(e threadSync) {
			for _, c := range e.Threads {
				c.GuildID = e.GuildID
				s.lookup.places.putChannel(c)
			}
		})
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE", "GUILD_MEMBER_UPDATE":
		return s.learnRoles(f)
	}
	return nil
}

type threadSync struct {
	GuildID string    `json:"guild_id"`
	Threads []channel `json:"threads"`
}

// decodeAndLearn decodes an event and gives it to what learns from it.
func decodeAndLearn[E any](s *shard, f frame, learn func(E)) error {
	var e E
	if _, err := s.messages.decode(f.Type, f.Data, &e); err != nil {
		return err
	}
	learn(e)
	return nil
}

func (s *shard) learnGuild(f frame) error {
	return decodeAndLearn(s, f, func(g guild) {
		self := s.bot.self.Known()
		if g.Unavailable || self == nil {
			return
		}
		if f.Type == "GUILD_CREATE" {
			s.lookup.places.learn(&g, self.ID)
			return
		}
		s.lookup.places.change(g.ID, func(info *guildInfo) { // an update has neither members nor channels
			info.tier = g.PremiumTier
			clear(info.roles)
			for _, r := range g.Roles {
				info.learn(r, self.ID)
			}
		})
	})
}

// roleEvent has the fields that events of roles and members share.
type roleEvent struct {
	GuildID string `json:"guild_id"`
	Role    role   `json:"role"`
	RoleID  string `json:"role_id"` // of a deleted one
	member
}

func (s *shard) learnRoles(f frame) error {
	return decodeAndLearn(s, f, func(e roleEvent) {
		self := s.bot.self.Known()
		if self == nil {
			return
		}
		s.lookup.places.change(e.GuildID, func(g *guildInfo) {
			switch {
			case e.RoleID != "":
				delete(g.roles, e.RoleID)
			case e.Role.ID != "":
				g.learn(e.Role, self.ID)
			case e.User != nil && e.User.ID == self.ID:
				g.botRoles = e.Roles
			}
		})
	})
}
