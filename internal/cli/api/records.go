package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// RunList is a page of runs.
type RunList struct {
	Runs []Run `json:"runs"`
}

// Run is one piece of work of an agent.
type Run struct {
	ID       string    `json:"id"`
	Session  string    `json:"session"`
	Status   string    `json:"status"`
	Kind     string    `json:"kind"`
	Reply    string    `json:"reply"`
	Withheld *Withheld `json:"withheld"`
	Error    string    `json:"error"`
	Model    string    `json:"model"`
	Attempts int       `json:"attempts"`
	Accepted time.Time `json:"accepted"`
	Finished time.Time `json:"finished"`

	ModelCalls []ModelCall `json:"model_calls"`
}

// ModelCall is one call of a model in a run.
type ModelCall struct {
	Model  string `json:"model"`
	Took   int64  `json:"took_ms"`
	Failed bool   `json:"failed"`
	Usage  struct {
		Input  int `json:"inputTokens"`
		Output int `json:"outputTokens"`
		Cached int `json:"cachedTokens"`
	} `json:"usage"`
}

// Line describes the call in one line.
func (c *ModelCall) Line() string {
	took := (time.Duration(c.Took) * time.Millisecond).String()
	if c.Failed {
		return c.Model + " failed after " + took
	}
	return fmt.Sprintf("%s, %s: %d tokens in (%d cached), %d out", c.Model, took, c.Usage.Input, c.Usage.Cached, c.Usage.Output)
}

// Took is how long the run has been worked, from its acceptance to its end; empty if it has not ended.
func (r Run) Took() string {
	if r.Finished.IsZero() {
		return ""
	}
	return r.Finished.Sub(r.Accepted).Round(time.Millisecond).String()
}

// Said is the reply, or says why it is withheld or missing.
func (r Run) Said() string {
	if r.Withheld != nil {
		return r.Withheld.Line()
	}
	return cmp.Or(r.Error, r.Reply)
}

// PairingList is the list of pairings.
type PairingList struct {
	Pairings []Pairing `json:"pairings"`
}

// Pairing is a person who asked to talk to the agents.
type Pairing struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	User    struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"user"`
	Code    string    `json:"code"`
	Status  string    `json:"status"`
	Created time.Time `json:"created"`
	Note    string    `json:"note"`
}

// Person is "<channel>:<id> <name>".
func (p Pairing) Person() string {
	return p.Channel + ":" + p.User.ID + " " + cmp.Or(p.User.Name, p.User.Username)
}

// MemoryList is a page of memories.
type MemoryList struct {
	Memories []Memory `json:"memories"`
	Next     string   `json:"next"`
}

// MemoryHistory is a memory and all versions of its key.
type MemoryHistory struct {
	Memory   Memory   `json:"memory"`
	Versions []Memory `json:"versions"`
}

// MemoryVersions are versions of a key, newest first.
type MemoryVersions struct {
	Versions []Memory `json:"versions"`
	Next     string   `json:"next"`
}

// Memory is one version of a memory.
type Memory struct {
	ID        string     `json:"id"`
	Namespace string     `json:"namespace"`
	Audience  string     `json:"audience"`
	Level     string     `json:"classification"`
	Trust     string     `json:"trust"`
	Key       string     `json:"key"`
	Content   string     `json:"content"`
	Tags      []string   `json:"tags"`
	Session   string     `json:"session"`
	Updated   time.Time  `json:"updated_at"`
	Expires   *time.Time `json:"expires_at"`
	Deleted   bool       `json:"deleted"`
	Ending    string     `json:"ending"`
}

// State says whether the version is current, or how it ended. A tombstone stands for a deleted memory.
func (m Memory) State() string {
	switch {
	case m.Deleted && m.Ending == "":
		return "tombstone"
	case m.Deleted:
		return "tombstone, " + m.Ending
	}
	return cmp.Or(m.Ending, "current")
}

// AuditPage is a page of the audit trail.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
}

// AuditEntry is an entry of the audit trail.
type AuditEntry struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Detail json.RawMessage `json:"detail"`
}

// AuditReport is the result of checking the whole audit trail.
type AuditReport struct {
	OK      bool     `json:"ok"`
	Entries int      `json:"entries"`
	Heads   []string `json:"heads"`
	Faults  []struct {
		Chain int    `json:"chain"`
		Seq   int64  `json:"seq"`
		Kind  string `json:"kind"`
		Text  string `json:"text"`
	} `json:"faults"`
}

// Conversation is a conversation of the directory, with its members where the platform lists them.
type Conversation struct {
	Route struct {
		Channel, Account, ChatType, Conversation, Title string
	}
	Members []struct {
		ID, Name, Username string
		Bot                bool
	}
}

// Status is the state of a running gateway.
type Status struct {
	Version    string         `json:"version"`
	Uptime     string         `json:"uptime"`
	Ready      bool           `json:"ready"`
	Parts      []Component    `json:"parts"`
	Accounts   []Account      `json:"accounts"`
	Commands   string         `json:"commands"`
	Deliveries map[string]int `json:"deliveries"`
	Limited    []Limited      `json:"limited"`
}

// Limited is somebody whose messages or requests were refused because of a limit.
type Limited struct {
	Person string    `json:"person"`
	Reason string    `json:"reason"`
	Count  int       `json:"count"`
	Last   time.Time `json:"last"`
}

// Failed reports whether the gateway is not ready.
func (s Status) Failed() bool { return !s.Ready }

// Component is the state of a component such as the store.
type Component struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Account is the state of an account on a channel.
type Account struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Status  string `json:"status"`
	Self    struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"self"`
	Level     string    `json:"classification"`
	Detail    string    `json:"detail"`
	DeafSince time.Time `json:"deafSince"`
	LastEvent time.Time `json:"lastEvent"`
	Pending   int       `json:"pending"`
	Restarts  int       `json:"restarts"`
}

// Profile is the account's name on its platform.
func (a Account) Profile() string {
	if a.Self.Username != "" {
		return "@" + a.Self.Username
	}
	return a.Self.Name
}
