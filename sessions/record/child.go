package record

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"sluice/policy/flow"
	"sluice/sessions/address"
)

// Child describes the session of a sub-agent. It can narrow what the parent session may do, and never widens it.
type Child struct {
	ID        address.ID
	Key       address.Key
	Agent     string
	Model     string      // "<provider>/<model>"; empty: the agent's
	Title     string      // short, for display
	Label     flow.Label  // of the task
	Clearance flow.Level  // if invalid, the parent's
	Files     *FileAccess // nil: the parent's
	Now       time.Time
}

// NewChild creates the record of a sub-agent's session. It has the label of the task. Its clearance and its files never
// exceed those of the parent.
func (r Record) NewChild(c Child) Record {
	files := r.FileAccess
	if c.Files != nil {
		files = files.Narrow(*c.Files)
	}
	return Record{
		ID: c.ID, Key: c.Key, Agent: c.Agent, Partition: r.Partition, SpawnedBy: r.ID,
		Taint: c.Label, Clearance: r.ChildClearance(c.Clearance), FileAccess: files,
		Model: flow.NewText(c.Model, c.Label), Title: flow.NewText(c.Title, c.Label),
		Persistent: true, Created: c.Now, LastActivity: c.Now,
	}
}

// ChildClearance is the clearance of a sub-agent that asks for one. An invalid level asks for the parent's.
func (r Record) ChildClearance(asked flow.Level) flow.Level {
	if !asked.Valid() {
		return r.Clearance
	}
	return flow.Min(r.Clearance, asked)
}

// ChildName derives a child's id and key from the tool call that starts it. asking is the message with the call: another
// answer that asks again starts another child.
func ChildName(parent address.ID, asking address.MessageID, callID, agent string) (address.ID, address.Key) {
	name := sha256.Sum256([]byte(string(parent) + "\x00" + string(asking) + "\x00" + callID))
	id := uuid.NewHash(sha256.New(), uuid.Nil, name[:], 8)
	return address.ID("sess_" + hex.EncodeToString(name[:6])), address.SubAgentKey(agent, id.String())
}
