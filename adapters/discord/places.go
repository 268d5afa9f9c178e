package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"sluice/adapters"
)

// Bounds of what is remembered. A channel that was forgotten is asked for again.
const (
	maxChannels = 16_384
	maxGuilds   = 2_500 // Discord's own bound for one shard
)

// places remembers channels, threads and guilds: what thread belongs where, and
// names. Safe for concurrent use.
type places struct {
	mu       sync.Mutex
	channels *lru[channel]
	guilds   *lru[*guildInfo]
}

// guildInfo is what is known of one guild.
type guildInfo struct {
	name  string
	tier  int               // of its boosts
	roles map[string]string // id to name
	mine  string            // the role that Discord made for the bot itself; empty if it has none
	own   []string          // ids of the bot's roles
}

func newPlaces() *places {
	return &places{channels: newLRU[channel](maxChannels), guilds: newLRU[*guildInfo](maxGuilds)}
}

// learn takes all that a guild says of itself.
func (p *places) learn(g *guild, self string) {
	info := &guildInfo{name: g.Name, tier: g.PremiumTier, roles: make(map[string]string, len(g.Roles))}
	for _, r := range g.Roles {
		info.learn(r, self)
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == self {
			info.own = m.Roles
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guilds.put(g.ID, info)
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		if c.ID == "" {
			continue // it could not be read
		}
		c.GuildID = g.ID // events of a guild leave it out
		p.channels.put(c.ID, c)
	}
}

func (g *guildInfo) learn(r role, self string) {
	if r.ID == "" {
		return // it could not be read
	}
	g.roles[r.ID] = valid(r.Name)
	if r.Tags.BotID == self {
		g.mine = r.ID
	}
}

func (p *places) putChannel(c channel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.channels.put(c.ID, c)
}

func (p *places) dropChannel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.channels.remove(id)
}

func (p *places) channel(id string) (channel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.channels.get(id)
}

func (p *places) dropGuild(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guilds.remove(id)
}

// change works on what is known of a guild, if it is known.
func (p *places) change(guildID string, do func(*guildInfo)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.guilds.get(guildID); ok {
		do(g)
	}
}

// known reads something of a guild, its zero value if the guild is not known.
func known[V any](p *places, guildID string, read func(*guildInfo) V) (v V) {
	p.change(guildID, func(g *guildInfo) { v = read(g) })
	return v
}

// lookup finds out where something happened and who did it: from what is remembered, or by asking Discord.
type lookup struct {
	cfg    Config
	api    *api
	places *places
}

// channel is a channel or thread, asked for where it isn't known. One that the bot may
// not look at is taken for a channel of its own: what it is part of is then not known.
func (l *lookup) channel(ctx context.Context, id, guildID string) (channel, error) {
	if c, ok := l.places.channel(id); ok {
		return c, nil
	}
	c := channel{ID: id, GuildID: guildID}
	err := l.api.call(ctx, request{method: http.MethodGet, path: at("/channels/{}", id)}, &c)
	if f, ok := errors.AsType[*adapters.Failure](err); ok && f.Kind == adapters.Permanent {
		l.cfg.Log.Warn("discord does not show a channel; assuming that it is not a thread", "conversation", id, "error", f.Err)
		return channel{ID: id, GuildID: guildID}, nil
	}
	if err != nil {
		return channel{}, err
	}
	c.ID = id
	l.places.putChannel(c)
	return c, nil
}

// ensureGuild makes sure that a guild's roles are known: what is fetched after a
// silence may come before the guild's own event.
func (l *lookup) ensureGuild(ctx context.Context, id, self string) error {
	if id == "" || known(l.places, id, func(*guildInfo) bool { return true }) {
		return nil
	}
	var g guild
	if err := l.api.optional(ctx, at("/guilds/{}", id), &g); err != nil {
		return err
	}
	me := member{}
	if err := l.api.optional(ctx, at("/guilds/{}/members/{}", id, self), &me); err != nil {
		return err
	}
	g.ID = id
	g.Members = append(g.Members, me)
	l.places.learn(&g, self)
	return nil
}
