package why

import (
	"cmp"
	"slices"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	memoryPrefix = "mem_"
	// memoryEntriesMax is how many entries of the audit trail are shown about a memory.
	memoryEntriesMax = 20
)

// memory explains who has saved a version of a memory, or says that this is not recorded.
func (c *chain) memory(id string) error {
	m, err := c.Memories.Memory(c.ctx, sessions.MemoryID(id), flow.Restricted)
	if err := c.Visible.Check(c.ctx, err, denials.Object{Kind: "memory", ID: id, Session: m.Session, Label: m.Label}); err != nil {
		return err
	}
	c.out.Kind, c.out.Title, c.out.Status = "memory", "memory "+m.Key, cmp.Or(string(m.Ending), "current")
	if m.Deleted {
		c.out.Status = "deleted"
	}
	if err := c.ranOf(m.Run); err != nil {
		return err
	}
	entries, err := c.memoryEntries(m)
	if err != nil {
		return err
	}
	for i := range slices.Backward(entries) {
		c.place(&entries[i])
	}
	saved := slices.IndexFunc(entries, func(e ledger.AuditRecord) bool { return e.Action == "memory.save" || m.Deleted })
	switch {
	case saved >= 0:
		c.out.Answer = entryCause(&entries[saved])
	case m.Run != "":
		c.out.Answer = "The agent saved it in the run " + string(m.Run) + "."
	default:
		c.out.Answer = "Who saved it is not recorded."
		c.insert(step{Step: "recorded", At: &m.Updated, State: notRecorded, Text: c.out.Answer, Label: m.Label.String()})
	}
	return nil
}

// memoryEntries are the entries about a memory, newest first. A tombstone belongs to the version that it has ended.
func (c *chain) memoryEntries(m sessions.Memory) ([]ledger.AuditRecord, error) {
	about := m.ID
	if m.Deleted {
		versions, err := c.Memories.MemoryVersions(c.ctx, m, 2*memoryEntriesMax)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			if !v.Deleted && v.Ended.Equal(m.Updated) {
				about = v.ID
			}
		}
	}
	found, err := c.Rows.ListAudit(c.ctx, ledger.AuditQuery{Object: string(about), MaxLevel: auth.CallerOf(c.ctx).Level, Limit: memoryEntriesMax})
	return slices.DeleteFunc(found, func(e ledger.AuditRecord) bool { return m.Deleted && e.Action != "memory.delete" }), err
}
