package sessions_test

import (
	"maps"
	"slices"

	"sluice/sessions"
)

// naive is a conversation tree as simple as can be: what Session, with its thread in
// memory and the rest in a database, must look like.
type naive struct {
	nodes     map[sessions.MessageID]node
	summaries map[sessions.MessageID]string // the newest that stands beside a node
	head      sessions.MessageID
	count     int
}

type node struct {
	parent sessions.MessageID
	role   sessions.Role
	text   string
	order  int // of creation
}

func newNaive() naive {
	return naive{nodes: map[sessions.MessageID]node{}, summaries: map[sessions.MessageID]string{}}
}

func (n *naive) clone() naive {
	return naive{nodes: maps.Clone(n.nodes), summaries: maps.Clone(n.summaries), head: n.head, count: n.count}
}

func (n *naive) add(id, parent sessions.MessageID, role sessions.Role, text string) {
	n.count++
	n.nodes[id] = node{parent: parent, role: role, text: text, order: n.count}
	n.head = id
}

// path is the way from the root to a node, itself too.
func (n *naive) path(id sessions.MessageID) []sessions.MessageID {
	if id == "" {
		return nil
	}
	return append(n.path(n.nodes[id].parent), id)
}

// thread are the texts that a model sees: from the last summary on.
func (n *naive) thread() []string {
	texts := []string{}
	for _, id := range n.path(n.head) {
		texts = append(texts, n.nodes[id].text)
		if summary, ok := n.summaries[id]; ok {
			texts = []string{summary}
		}
	}
	return texts
}

func (n *naive) children(parent sessions.MessageID) (ids []sessions.MessageID) {
	for id, child := range n.nodes {
		if child.parent == parent {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b sessions.MessageID) int { return n.nodes[a].order - n.nodes[b].order })
	return ids
}

// leaf is the newest of a node and all below it.
func (n *naive) leaf(id sessions.MessageID) sessions.MessageID {
	newest := id
	for _, child := range n.children(id) {
		if leaf := n.leaf(child); n.nodes[leaf].order > n.nodes[newest].order {
			newest = leaf
		}
	}
	return newest
}

func (n *naive) user(id sessions.MessageID) bool { return n.nodes[id].role == sessions.RoleUser }

// undo takes turns off the end of the path and says how many there were.
func (n *naive) undo(turns int) (undone int) {
	path := n.path(n.head)
	for ; undone < turns && slices.ContainsFunc(path, n.user); undone++ {
		for !n.user(path[len(path)-1]) {
			path = path[:len(path)-1]
		}
		for len(path) > 0 && n.user(path[len(path)-1]) {
			path = path[:len(path)-1]
		}
	}
	if undone > 0 {
		n.head = ""
		if len(path) > 0 {
			n.head = path[len(path)-1]
		}
	}
	return undone
}

// question is the nearest user's message on the way to a node.
func (n *naive) question(id sessions.MessageID) sessions.MessageID {
	for _, m := range slices.Backward(n.path(id)) {
		if n.user(m) {
			return m
		}
	}
	return ""
}

// ids are all nodes in the order of their creation.
func (n *naive) ids() []sessions.MessageID {
	ids := slices.Collect(maps.Keys(n.nodes))
	slices.SortFunc(ids, func(a, b sessions.MessageID) int { return n.nodes[a].order - n.nodes[b].order })
	return ids
}
