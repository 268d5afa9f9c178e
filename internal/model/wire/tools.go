package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"sluice/sessions"
)

// toolLists is how many encoded tool lists a provider caches.
const toolLists = 16

// toolCache caches the encoded form of the most recently used tool lists. All sessions of an agent have the same
// list, and encoding it takes longer than encoding the rest of a short request. It is safe for concurrent use.
type toolCache struct {
	mu    sync.Mutex
	lists []encodedTools // the most recently used first
}

type encodedTools struct {
	specs []sessions.ToolSpec
	text  []byte // a JSON array
}

// get returns the encoded form of a list; nil for an empty list. The result must not be changed.
func (c *toolCache) get(specs []sessions.ToolSpec, form func(sessions.ToolSpec) any) ([]byte, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	if text := c.find(specs); text != nil {
		return text, nil
	}
	forms := make([]any, len(specs))
	for i, s := range specs {
		forms[i] = form(s)
	}
	text, err := json.Marshal(forms)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists = slices.Insert(c.lists, 0, encodedTools{slices.Clone(specs), text})
	if len(c.lists) > toolLists {
		c.lists = slices.Delete(c.lists, toolLists, len(c.lists))
	}
	return text, nil
}

// find compares by content. Equal lists usually share their strings, so the comparison is fast.
func (c *toolCache) find(specs []sessions.ToolSpec) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.lists, func(e encodedTools) bool { return slices.EqualFunc(e.specs, specs, sameTool) })
	if i < 0 {
		return nil
	}
	found := c.lists[i]
	copy(c.lists[1:], c.lists[:i])
	c.lists[0] = found
	return found.text
}

func sameTool(a, b sessions.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
