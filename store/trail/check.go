package trail

import (
	"fmt"

	"sluice/router/ledger"
	"sluice/store/engine"
)

// noHead is the sequence number of a missing head.
const noHead = int64(-1)

// chainCheck follows one chain from its first entry to its last.
type chainCheck struct {
	head    engine.Head          // as it was before the first entry was read
	kept    map[engine.Head]bool // heads that were kept elsewhere; true: seen in the chain
	entries int64                // entries read so far
	last    engine.Head          // the last entry before the first fault
	broken  bool                 // the entry after last does not fit; faults[stray] describes it
	stray   int                  // index in faults
	faults  []ledger.AuditFault
}

func newChainCheck(head engine.Head, kept []ledger.AuditHead) *chainCheck {
	c := &chainCheck{head: head, kept: map[engine.Head]bool{}, last: engine.Head{Chain: head.Chain}}
	for _, k := range kept {
		if k.Chain == head.Chain {
			c.kept[engine.Head(k)] = false
		}
	}
	return c
}

func (c *chainCheck) fault(seq int64, kind ledger.AuditFaultKind, format string, args ...any) {
	c.faults = append(c.faults, ledger.AuditFault{Chain: c.head.Chain, Seq: seq, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// next checks the next entry.
func (c *chainCheck) next(l link) {
	c.entries++
	if _, ok := c.kept[l.Head]; ok {
		c.kept[l.Head] = true
	}
	place := c.last.Seq + 1
	fits := l.Seal(c.last.Hash, c.head.Chain, place) == l.Hash
	switch {
	case c.broken && fits:
		c.faults[c.stray].Kind = ledger.AuditOrder
		c.faults[c.stray].Text = fmt.Sprintf("the entry that belongs here is at %d", l.Seq)
	case c.broken:
	case fits && l.Seq == place:
		c.good(l.Head)
	default:
		c.bad(place, l, fits)
	}
}

func (c *chainCheck) good(h engine.Head) {
	c.last = h
	if h.Seq == c.head.Seq && h.Hash != c.head.Hash {
		c.fault(h.Seq, ledger.AuditHeadBad, "the table of heads has another hash for it than the entry")
	}
}

// bad reports the first entry of a chain that was changed. The entry after it can't be checked, but may be the entry
// that belongs there.
func (c *chainCheck) bad(place int64, l link, fits bool) {
	c.broken, c.stray = true, len(c.faults)
	switch {
	case fits:
		c.fault(place, ledger.AuditOrder, "the entry that belongs here is at %d", l.Seq)
	case l.Seq > place:
		c.fault(place, ledger.AuditMissing, "it is missing: the next existing entry is %d", l.Seq)
	case l.Seq < place:
		c.fault(l.Seq, ledger.AuditOrder, "it is in a place where no entry was written")
	default:
		c.fault(place, ledger.AuditChanged, "the entry, or its link to the previous one, was changed after it was written")
	}
}

// end compares the chain with its current head, whose sequence number is latest, and with the kept heads.
func (c *chainCheck) end(latest int64) {
	switch last := c.last.Seq; {
	case c.broken:
	case c.head.Seq == noHead:
		c.fault(last, ledger.AuditHeadBad, "the table of heads does not have this chain")
	case last < c.head.Seq:
		c.fault(last+1, ledger.AuditMissing, "it is missing: the chain has had %d entries and ends at %d", c.head.Seq, last)
	case last > latest:
		c.fault(latest+1, ledger.AuditOrder, "it is after the head: no gateway wrote it, or the head was set back")
	}
	for k, met := range c.kept {
		if !met {
			c.fault(k.Seq, ledger.AuditHeadBad, "the entry with the kept hash %s does not exist: it was changed or removed, or all entries since an earlier one were rewritten", k.Hash)
		}
	}
}
