package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"sluice/adapters"
)

// Bounds of the cache. A channel that was dropped is looked up again.
const (
	maxChannels = 16_384
	maxGuilds   = 2_500 // Discord's limit for one shard
)

// places caches the names and relations of channels, threads and guilds. It is safe for concurrent use.
type places struct {
	mu       sync.Mutex
	channels *lru[channel]
	guilds   *lru[*guildInfo]
}

// guildInfo is the cached data of a guild.
type guildInfo struct {
	tier     int               // of its boosts
	roles    map[string]string // id to name
	botRole  string            // the role that Discord made for the bot itself; empty if it made no role
	botRoles []string          // ids of the bot's roles
}

func newPlaces() *places {
	return &places{channels: newLRU[channel](maxChannels), guilds: newLRU[*guildInfo](maxGuilds)}
}

// learn caches the data of a guild.
func (p *places) learn(g *guild, self string) {
	info := &guildInfo{tier: g.PremiumTier, roles: make(map[string]string, len(g.Roles))}
	for _, r := range g.Roles {
		info.learn(r, self)
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == self {
			info.botRoles = m.Roles
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
		g.botRole = r.ID
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

// change changes the cached data of a guild, if it is cached.
func (p *places) change(guildID string, do func(*guildInfo)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.guilds.get(guildID); ok {
		do(g)
	}
}

// known reads a value from the cached data of a guild. It returns the zero value for a guild that is not cached.
func known[V any](p *places, guildID string, read func(*guildInfo) V) (v V) {
	p.change(guildID, func(g *guildInfo) { v = read(g) })
	return v
}

// lookup finds the place and the person of an event, in the cache or by asking Discord.
type lookup struct {
	cfg    Config
	api    *api
	places *places
}

// channel returns a channel or thread, and asks Discord if it is not cached. One that the bot may not see counts as a channel,
// because its parent is unknown.
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

// ensureGuild makes sure that a guild's roles are cached: messages that are fetched after an outage may come before the
// guild's event.
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
