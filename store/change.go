package store

import (
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/access"
	"sluice/store/alerts"
	"sluice/store/allowrules"
	"sluice/store/engine"
	"sluice/store/nodes"
	"sluice/store/usage"
)

// changeWrite turns a change into its statements and its audit entries. Statements come after those that they depend
// on; within one kind they keep the order of the change.
func changeWrite(c ledger.Change) (engine.Write, engine.Trail, error) {
	b := &writer{}
	if c.Event != nil {
		b.event(*c.Event)
	}
	for _, id := range c.Idle {
		b.idle(id)
	}
	for _, e := range c.End {
		b.add(engine.Statement{SQL: endSession, Args: []any{engine.Micros(e.At), engine.Flag(e.Archive), string(e.ID), engine.Flag(e.Archive)}, Else: sessions.ErrNotFound})
		b.add(engine.Statement{SQL: endTodos, Args: []any{string(e.ID)}})
	}
	for _, r := range c.Create {
		b.createSession(r)
	}
	for _, r := range c.Save {
		b.saveSession(r)
	}
	for _, p := range c.Patch {
		b.patchSession(p)
	}
	for _, m := range c.Messages {
		b.message(m)
	}
	for _, x := range c.Exchanges {
		b.exchange(x)
	}
	for _, r := range c.Enqueue {
		b.enqueue(r)
	}
	for _, m := range c.Runs {
		b.moveRun(m)
	}
	for _, i := range c.Interrupt {
		b.add(engine.Statement{SQL: interruptRun, Args: []any{string(i.Run)}})
	}
	for _, a := range c.Abort {
		b.add(engine.Statement{SQL: abortQueued, Args: []any{engine.Micros(a.At), string(a.Session)}})
		b.add(engine.Statement{SQL: abortOpen, Args: []any{string(a.Session)}})
		for _, key := range a.Triggers {
			b.add(engine.Statement{SQL: wakeTrigger, Args: []any{engine.Micros(a.At), engine.Indexed(key)}})
		}
	}
	for _, m := range c.Media {
		b.media(m)
	}
	for _, d := range c.Deliver {
		b.deliver(d)
	}
	for _, d := range c.Begin {
		b.beginDelivery(d)
	}
	for _, m := range c.Deliveries {
		b.moveDelivery(m)
	}
	b.rest(c)
	trail := b.Entries(c.Audit)
	return b.write, trail, b.Err
}

// writer builds the statements of a change.
type writer struct {
	engine.Encoding
	write engine.Write
}

func (b *writer) add(s engine.Statement) { b.write = append(b.write, s) }

// rest adds the parts that few changes have.
func (b *writer) rest(c ledger.Change) {
	for _, r := range c.AppendHistory {
		b.remember(r)
	}
	for _, f := range c.TrimHistory {
		b.add(engine.Statement{SQL: `DELETE FROM history WHERE lane = ? AND at <= ?`, Args: []any{engine.Indexed(f.Lane), engine.Micros(f.Through)}})
	}
	for _, p := range c.Peers {
		b.peer(p)
	}
	for _, w := range c.EditHistory {
		b.add(engine.Statement{
			SQL:  `UPDATE history SET body = ? WHERE lane = ? AND message_id = ?`,
			Args: []any{w.Text, engine.Indexed(w.Lane), engine.Indexed(w.Message)},
		})
	}
	for _, u := range c.DeleteHistory {
		b.add(engine.Statement{SQL: `DELETE FROM history WHERE lane = ? AND message_id = ?`, Args: []any{engine.Indexed(u.Lane), engine.Indexed(u.Message)}})
	}
	if c.Revised != nil {
		b.revised(*c.Revised)
	}
	if c.Bots != nil {
		b.botTurns(*c.Bots)
	}
	for _, p := range c.Requests {
		b.pairing(p, ` WHERE pairings.status IN ('pending', 'denied') AND pairings.expires <= excluded.created`, sessions.ErrConflict)
	}
	for _, p := range c.Pairings {
		b.pairing(p, "", nil)
	}
	for _, a := range c.Aliases {
		b.add(engine.Statement{
			SQL: `INSERT INTO aliases (channel, account, known_as, older) VALUES (?, ?, ?, ?)
				ON CONFLICT (channel, account, known_as) DO UPDATE SET older = excluded.older`,
			Args: []any{a.Channel, a.Account, engine.Indexed(a.To), string(a.From)},
		})
	}
	b.approvals(c)
	b.write = append(b.write, allowrules.Write(&b.Encoding, &c)...)
	for _, id := range c.Retire {
		b.retire(id)
	}
	for _, u := range c.Chains {
		b.chainUse(u)
	}
	for _, t := range c.Triggers {
		b.trigger(t)
	}
	for _, j := range c.Jobs {
		b.job(j)
	}
	for _, r := range c.HookRequests {
		b.hookRequest(r)
	}
	b.write = append(b.write, alerts.Write(&b.Encoding, &c.AlertChange)...)
	b.write = append(b.write, access.Write(&c.AccessChange)...)
	b.write = append(b.write, nodes.Write(&b.Encoding, c.Nodes)...)
	for i := range c.Raises {
		b.add(usage.Raise(&c.Raises[i].Account, c.Raises[i].Extra))
	}
	b.write = append(b.write, usage.Write(&b.Encoding, c.Postings)...)
	for _, check := range c.Checks {
		b.check(check)
	}
}
