// Package flow is the lattice of information-flow control: levels, trust and
// the labels made of them. It decides nothing about people or channels; it only
// says which label may flow where.
package flow

import (
	"fmt"
	"strings"
)

// Level is how secret a datum is. The zero Level is invalid and flows nowhere.
type Level struct{ rank int8 }

// The four levels, from everybody's to nobody else's.
var (
	Public       = Level{1}
	Internal     = Level{2}
	Confidential = Level{3}
	Restricted   = Level{4}
)

var levelNames = [...]string{1: "PUBLIC", 2: "INTERNAL", 3: "CONFIDENTIAL", 4: "RESTRICTED"}

// Levels lists the valid levels in ascending order.
func Levels() []Level { return []Level{Public, Internal, Confidential, Restricted} }

// ParseLevel reads a level's name. Any other text is an error, never a default.
func ParseLevel(s string) (Level, error) {
	for i := 1; i < len(levelNames); i++ {
		if strings.EqualFold(levelNames[i], s) {
			return Level{int8(i)}, nil
		}
	}
	return Level{}, fmt.Errorf("unknown level %q: want one of %s", s, strings.Join(levelNames[1:], ", "))
}

// LevelFromRank restores a level from the number that [Level.Rank] gave.
// Any other number is an error.
func LevelFromRank(rank int) (Level, error) {
	l := Level{int8(rank)}
	if rank != int(l.rank) || !l.Valid() {
		return Level{}, fmt.Errorf("level rank %d is not 1 to %d", rank, len(levelNames)-1)
	}
	return l, nil
}

// Valid reports whether l is one of the four levels.
func (l Level) Valid() bool { return l.rank >= 1 && int(l.rank) < len(levelNames) }

// Rank is the level's place in the order, 1 (PUBLIC) to 4 (RESTRICTED); 0 for an invalid level.
func (l Level) Rank() int {
	if !l.Valid() {
		return 0
	}
	return int(l.rank)
}

// String is the level's name.
func (l Level) String() string {
	if !l.Valid() {
		return "INVALID"
	}
	return levelNames[l.rank]
}

// MarshalText writes the level's name; an invalid level is an error.
func (l Level) MarshalText() ([]byte, error) {
	if !l.Valid() {
		return nil, fmt.Errorf("marshal level: invalid")
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (l *Level) UnmarshalText(b []byte) error {
	v, err := ParseLevel(string(b))
	if err != nil {
		return err
	}
	*l = v
	return nil
}

// CanFlow reports whether data at src may reach a place at dst: dst is at least as high.
// It is false when either side is invalid.
func CanFlow(src, dst Level) bool { return src.Valid() && dst.Valid() && dst.rank >= src.rank }

// Min is the lower of two levels; invalid if either is.
func Min(a, b Level) Level {
	if !a.Valid() || !b.Valid() {
		return Level{}
	}
	if a.rank < b.rank {
		return a
	}
	return b
}

// Trust says who could have influenced a datum. The zero Trust is invalid.
type Trust struct{ rank int8 }

// Untrusted data may have been written by anyone; trusted data only by an owner or the configuration.
var (
	Untrusted = Trust{1}
	Trusted   = Trust{2}
)

// Valid reports whether t is Trusted or Untrusted.
func (t Trust) Valid() bool { return t == Untrusted || t == Trusted }

// String is "trusted" or "untrusted".
func (t Trust) String() string {
	switch t {
	case Trusted:
		return "trusted"
	case Untrusted:
		return "untrusted"
	}
	return "invalid"
}

// Label is what every datum carries: how secret it is and who could have influenced it.
// Its zero value is invalid and flows nowhere.
type Label struct {
	level Level
	trust Trust
}

// NewLabel makes a label. With an invalid part the label is [Top].
func NewLabel(level Level, trust Trust) Label {
	if !level.Valid() || !trust.Valid() {
		return Top()
	}
	return Label{level, trust}
}

// Top is the label of a datum whose label was lost: nothing but the highest place may have it.
func Top() Label { return Label{Restricted, Untrusted} }

// Bottom is the label of a fresh session: public, trusted.
func Bottom() Label { return Label{Public, Trusted} }

// Level is the label's secrecy.
func (l Label) Level() Level { return l.level }

// Trust is the label's integrity.
func (l Label) Trust() Trust { return l.trust }

// Valid reports whether the label was made by this package's constructors.
func (l Label) Valid() bool { return l.level.Valid() && l.trust.Valid() }

// Join is the label of data made from both: the higher level, the lower trust.
// Joining with an invalid label gives [Top].
func (l Label) Join(m Label) Label {
	if !l.Valid() || !m.Valid() {
		return Top()
	}
	if m.level.rank > l.level.rank {
		l.level = m.level
	}
	if m.trust.rank < l.trust.rank {
		l.trust = m.trust
	}
	return l
}

// FlowsTo reports whether data with this label may reach a place at dst.
func (l Label) FlowsTo(dst Level) bool { return l.Valid() && CanFlow(l.level, dst) }

// String is "LEVEL/trust", for example "INTERNAL/untrusted".
func (l Label) String() string { return l.level.String() + "/" + l.trust.String() }

// Parse reads what String wrote.
func Parse(s string) (Label, error) {
	level, trust, ok := strings.Cut(s, "/")
	if !ok {
		return Label{}, fmt.Errorf("label %q: want LEVEL/trust", s)
	}
	lv, err := ParseLevel(level)
	if err != nil {
		return Label{}, fmt.Errorf("label %q: %w", s, err)
	}
	switch trust {
	case Trusted.String():
		return Label{lv, Trusted}, nil
	case Untrusted.String():
		return Label{lv, Untrusted}, nil
	}
	return Label{}, fmt.Errorf("label %q: unknown trust %q", s, trust)
}

// MarshalText writes "LEVEL/trust"; an invalid label is an error.
func (l Label) MarshalText() ([]byte, error) {
	if !l.Valid() {
		return nil, fmt.Errorf("marshal label: invalid")
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (l *Label) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err != nil {
		return err
	}
	*l = v
	return nil
}
