package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/internal/node/protocol"
	"sluice/sessions"
)

// deliver sends a message to the node and waits until the node has stored it.
func (c *conn) deliver(ctx context.Context, f protocol.Frame) error {
	done := make(chan struct{})
	c.mu.Lock()
	c.waiting[f.ID] = append(c.waiting[f.ID], done)
	c.mu.Unlock()
	defer c.forget(f.ID, done)
	select {
	case <-c.welcomed:
	case <-c.life.Done():
	case <-ctx.Done():
	}
	if err := c.send(ctx, f); err != nil {
		return fmt.Errorf("send to node %s: %w", c.node.ID, err)
	}
	select {
	case <-done:
		return nil
	case <-c.life.Done():
		return fmt.Errorf("node %s: the connection ended before it confirmed the message", c.node.ID)
	case <-ctx.Done():
		return fmt.Errorf("node %s did not confirm the message in time", c.node.ID)
	}
}

func (c *conn) confirmed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.waiting[id] {
		close(done)
	}
	delete(c.waiting, id)
}

func (c *conn) forget(id string, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []chan struct{}
	for _, other := range c.waiting[id] {
		if other != done {
			left = append(left, other)
		}
	}
	if left == nil {
		delete(c.waiting, id)
		return
	}
	c.waiting[id] = left
}

// The relay uses the live events of two names that no session has: messages to a node, and their confirmations. What is
// lost on the way is sent again, as the delivery stays queued.
func toNode(node string) sessions.ID { return sessions.ID("node." + node) }
func doneBy(id string) sessions.ID   { return sessions.ID("node-done." + dotless(id)) }

// dotless keeps an id one word of a subject.
func dotless(id string) string {
	text := []byte(id)
	for i, b := range text {
		if b == '.' {
			text[i] = '_'
		}
	}
	return string(text)
}

const eventRelay sessions.EventType = "node"

// relay sends a message by way of the replica that has the node's connection.
func (a *Adapter) relay(ctx context.Context, node string, f protocol.Frame) error {
	if a.cfg.Relay == nil {
		return fmt.Errorf("node %s: %w", node, errAway)
	}
	confirmed, err := a.cfg.Relay.Follow(ctx, doneBy(f.ID), 0)
	if err != nil {
		return fmt.Errorf("node %s: %w", node, err)
	}
	text, err := protocol.Encode(f)
	if err != nil {
		return err
	}
	a.cfg.Relay.Emit(sessions.Event{Session: toNode(node), Type: eventRelay, Text: string(text), At: a.cfg.Now()})
	select {
	case _, ok := <-confirmed:
		if !ok {
			return fmt.Errorf("node %s: the bus is not available", node)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("node %s: %w", node, errAway)
	}
}

// follow delivers what other replicas send to the node.
func (c *conn) follow() {
	if c.cfg.Relay == nil {
		return
	}
	messages, err := c.cfg.Relay.Follow(c.life, toNode(c.node.ID), 0)
	if err != nil {
		c.cancel(err)
		return
	}
	for e := range messages {
		var f protocol.Frame
		if err := json.Unmarshal([]byte(e.Text), &f); err != nil || f.Kind != protocol.Deliver {
			continue
		}
		ctx, cancel := context.WithTimeout(c.life, confirmWithin)
		err := c.deliver(ctx, f)
		cancel()
		if err != nil {
			c.cfg.Log.Debug("message of another replica not delivered", "node", c.node.ID, "err", err)
			continue
		}
		c.cfg.Relay.Emit(sessions.Event{Session: doneBy(f.ID), Type: eventRelay, At: c.cfg.Now()})
	}
	if c.life.Err() == nil {
		c.cancel(errors.New("the bus ended the relay of messages"))
	}
}
