package discord

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cursors has the last durable message of each channel. It keeps one short entry for each channel in which the bot ever
// received a message. It is safe for concurrent use.
type cursors struct {
	store Cursors // nil: positions are not stored

	mu    sync.Mutex
	last  map[string]string // channel to the last id
	saved map[string]string // the same, as stored
}

// loadCursors reads the stored positions of channels and sessions.
func loadCursors(ctx context.Context, store Cursors) (*cursors, map[string]string, error) {
	c := &cursors{store: store, last: map[string]string{}, saved: map[string]string{}}
	positions := map[string]string{}
	if store == nil {
		return c, positions, nil
	}
	all, err := store.Load(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("load discord cursors: %w", err)
	}
	for name, value := range all {
		if strings.HasPrefix(name, sessionPrefix) {
			positions[name] = value
		} else if isID(value) {
			c.last[name], c.saved[name] = value, value
		}
	}
	return c, positions, nil
}

// addChannel stores a new channel with the position before message id, so that the next process fetches the message if this
// one ends now.
func (c *cursors) addChannel(ctx context.Context, channelID, id string) error {
	if c.store == nil || !isID(id) {
		return nil
	}
	c.mu.Lock()
	_, met := c.last[channelID]
	c.mu.Unlock()
	if met {
		return nil
	}
	before := previous(id)
	if err := c.store.Save(ctx, channelID, before); err != nil {
		return fmt.Errorf("save discord cursor of a new channel: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[channelID], c.saved[channelID] = before, before
	return nil
}

// move notes that a message is durable.
func (c *cursors) move(channelID, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, met := c.last[channelID]; met && isID(id) && later(id, last) {
		c.last[channelID] = id
	}
}

// save stores a channel's position, if it has changed.
func (c *cursors) save(ctx context.Context, channelID string) error {
	c.mu.Lock()
	last := c.last[channelID]
	same := last == c.saved[channelID]
	c.mu.Unlock()
	if same || c.store == nil {
		return nil
	}
	if err := c.store.Save(ctx, channelID, last); err != nil {
		return fmt.Errorf("save discord cursor: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved[channelID] = last
	return nil
}

// channels returns the channels with a position.
func (c *cursors) channels() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.last))
}

// place returns the last durable message of a channel.
func (c *cursors) place(channelID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[channelID]
}

// discordEpoch is the first millisecond of 2015, from which Discord's ids count.
const discordEpoch = 1_420_070_400_000

// snowflake returns the lowest possible id for a time.
func snowflake(t time.Time) string {
	return strconv.FormatInt(max(0, t.UnixMilli()-discordEpoch)<<22, 10)
}

// later reports whether id a is above b; both are decimal without leading zeros.
func later(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

func previous(id string) string {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return "0"
	}
	return strconv.FormatUint(n-1, 10)
}

// isID reports whether a text is one of Discord's ids.
func isID(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == s
}
