package slack

import (
	"cmp"
	"context"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/sessions"
)

const (
	maxNames    = 4096            // of people, and as many of conversations
	nameLife    = time.Hour       // how long a name is cached
	unknownLife = time.Minute     // how long a failed lookup is not repeated
	nameTimeout = 2 * time.Second // Slack wants an event confirmed within three
	asksMax     = 20              // lookups for one text, which are made one after the other
)

// slackbot is Slack's own bot. users.info calls it a person.
const slackbot = "USLACKBOT"

// names caches the names of people and conversations. If Slack does not respond in time, the id is used instead. It is safe
// for concurrent use.
type names struct {
	web      *web
	users    *cache[sessions.Peer]
	channels *cache[string]
}

func newNames(w *web) *names {
	return &names{web: w, users: newCache[sessions.Peer](w.cfg.Now), channels: newCache[string](w.cfg.Now)}
}

// user returns a person of the workspace, or only the id if Slack does not return more.
func (n *names) user(ctx context.Context, id string) sessions.Peer {
	if id == slackbot {
		return sessions.Peer{ID: slackbot, Name: "Slackbot", Username: "slackbot", Bot: true}
	}
	return n.users.get(id, func() (sessions.Peer, bool) {
		ctx, cancel := context.WithTimeout(ctx, nameTimeout)
		defer cancel()
		u, err := n.web.api.GetUserInfoContext(ctx, id)
		if err != nil {
			n.unknown(n.web.failure("users.info", err), id)
			return sessions.Peer{ID: sessions.UserID(id), Name: id}, false
		}
		return peerOf(u), true
	})
}

// channel is the name of a channel without #; empty if Slack does not return one.
func (n *names) channel(ctx context.Context, id string) string {
	return n.channels.get(id, func() (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, nameTimeout)
		defer cancel()
		c, err := n.web.api.GetConversationInfoContext(ctx, &slackapi.GetConversationInfoInput{ChannelID: id})
		if err != nil {
			n.unknown(n.web.failure("conversations.info", err), id)
			return "", false
		}
		return valid(c.Name), true
	})
}

func (n *names) unknown(why error, id string) {
	n.web.cfg.Log.Warn("slack did not return a name; using the id", "id", id, "error", why)
}

// dictionary finds the names that one text mentions. It looks up at most asksMax names that are not cached; of further ones
// the id is shown.
func (n *names) dictionary(ctx context.Context) dictionary {
	left := asksMax
	may := func(known bool) bool {
		if known {
			return true
		}
		left--
		return left >= 0
	}
	return dictionary{
		user: func(id string) string {
			if !may(n.users.has(id)) {
				return ""
			}
			return n.user(ctx, id).Name
		},
		channel: func(id string) string {
			if !may(n.channels.has(id)) {
				return ""
			}
			return n.channel(ctx, id)
		},
	}
}

func peerOf(u *slackapi.User) sessions.Peer {
	name := cmp.Or(cmp.Or(cmp.Or(u.Profile.DisplayName, u.RealName), u.Profile.RealName), cmp.Or(u.Name, u.ID))
	return sessions.Peer{ID: sessions.UserID(u.ID), Name: valid(name), Username: valid(u.Name), Bot: u.IsBot}
}

// cache keeps at most maxNames values for a limited time. It is safe for concurrent use.
type cache[V any] struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]remembered[V]
}

type remembered[V any] struct {
	value V
	until time.Time
}

func newCache[V any](now func() time.Time) *cache[V] {
	return &cache[V]{now: now, known: map[string]remembered[V]{}}
}

// get returns a cached value or looks it up. An uncertain result expires soon. Two callers may look up the same key at the
// same time.
func (c *cache[V]) get(key string, ask func() (value V, sure bool)) V {
	c.mu.Lock()
	r, ok := c.known[key]
	c.mu.Unlock()
	if ok && c.now().Before(r.until) {
		return r.value
	}
	value, sure := ask()
	life := nameLife
	if !sure {
		life = unknownLife
	}
	c.put(key, remembered[V]{value: value, until: c.now().Add(life)})
	return value
}

// has reports whether a value is cached.
func (c *cache[V]) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[key]
	return ok && c.now().Before(r.until)
}

func (c *cache[V]) put(key string, r remembered[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[key]; !known && len(c.known) >= maxNames {
		c.makeRoom()
	}
	c.known[key] = r
}

// makeRoom drops expired values. If too many remain, it drops any others. The caller holds mu.
func (c *cache[V]) makeRoom() {
	now := c.now()
	for key, r := range c.known {
		if now.After(r.until) {
			delete(c.known, key)
		}
	}
	for key := range c.known {
		if len(c.known) <= maxNames*3/4 { // so that this is not repeated for each new value
			return
		}
		delete(c.known, key)
	}
}
