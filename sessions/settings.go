package sessions

import "time"

// Patch sets a session's settings; nil leaves a field as it is, and what is empty takes an override back.
type Patch struct {
	ID         ID
	SendPolicy *SendPolicy
	Activation *Activation
	Model      *string
	Title      *string
	Metadata   *[]byte
	TTL        *time.Duration
}

// Empty reports whether the patch sets nothing.
func (p Patch) Empty() bool { return p == Patch{ID: p.ID} }

// Apply sets in a record what the patch sets.
func (p Patch) Apply(r *Record) {
	set(&r.SendPolicy, p.SendPolicy)
	set(&r.Activation, p.Activation)
	set(&r.Model, p.Model)
	set(&r.TTL, p.TTL)
	set(&r.Title, p.Title)
	if p.Metadata != nil {
		r.Metadata = *p.Metadata
	}
}

// join is p with what a later patch sets.
func (p Patch) join(later Patch) Patch {
	over(&p.SendPolicy, later.SendPolicy)
	over(&p.Activation, later.Activation)
	over(&p.Model, later.Model)
	over(&p.Title, later.Title)
	over(&p.Metadata, later.Metadata)
	return p
}

// Patch sets settings of this session, in memory until it is stored. The id may be left out.
func (s *Session) Patch(p Patch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Apply(&s.record)
	s.settings = s.settings.join(p)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func over[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}
