// Package notes has what agents write down for themselves: memories across sessions, and the to-do list of a session.
package notes

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/audit"
)

// ErrMemoryFull: what was to be remembered no longer fits into its audience at its level.
var ErrMemoryFull = errors.New("memory is full")

// The bounds of a memory.
const (
	MemoryKeyMax     = 256      // bytes
	MemoryContentMax = 64 << 10 // bytes
	MemoryTagsMax    = 32
	MemoryTagMax     = 64 // bytes
)

// MemoryID names one version of a memory: "mem_" and 32 hex digits.
type MemoryID string

// NewMemoryID makes an id that sorts by time.
func NewMemoryID() MemoryID {
	u := uuid.Must(uuid.NewV7())
	return MemoryID("mem_" + hex.EncodeToString(u[:]))
}

// Audience says who may know the memories in a part of a namespace. It is [AudienceOwner] or the key of a conversation.
type Audience string

// AudienceOwner is what owners have told an agent in private.
const AudienceOwner Audience = "owner"

// Memory is one version of what an agent remembers across sessions, or the tombstone of one that was
// deleted. Its content never changes. Key, tags and content have the label.
type Memory struct {
	ID        MemoryID
	Namespace string // the agents that share it
	Audience  Audience
	Label     flow.Label // what the session that saved it had learnt
	Key       string
	Content   string
	Tags      []string
	Session   address.ID
	Run       address.RunID
	Created   time.Time // of the first version, if the versions between were neither deleted nor expired
	Updated   time.Time // of this version
	Expires   time.Time // it ends then; zero: never
	Deleted   bool      // a tombstone, which has a key and nothing else
	Ended     time.Time // another version took its place, or none; zero: it is the current one
	Ending    MemoryEnding
}

// MemoryEnding says why a version is no longer the current one.
type MemoryEnding string

// The endings; empty for a current version.
const (
	MemoryReplaced  MemoryEnding = "replaced"  // by a later save
	MemoryDeleted   MemoryEnding = "deleted"   // its tombstone stands behind it
	MemoryExpired   MemoryEnding = "expired"   // by its own time
	MemoryUncovered MemoryEnding = "uncovered" // a tombstone that no longer covers what is lower
)

// MemoryScope is what a reader may see: of one key in one audience the current version
// of the highest level up to MaxLevel, where that is neither a tombstone nor expired. What is
// beyond it changes no answer: neither rows nor their order, counts, cursors or errors.
type MemoryScope struct {
	Namespace string   // empty: all of them, for operators
	Audience  Audience // empty: all of the namespace
	MaxLevel  flow.Level
	Level     flow.Level // only what has this level; invalid: every level up to MaxLevel
	Now       time.Time
}

// MemorySave inserts the memory as the current version of its key in its audience at its level, and ends the previous version.
// An id that is there already is [record.ErrDuplicate].
type MemorySave struct {
	Memory // Created, Ended and Ending are the store's
	// MaxEntries and MaxBytes bound what is in the audience at the level: the current versions, and the
	// bytes of all that is kept. Beyond them it is [ErrMemoryFull].
	MaxEntries int
	MaxBytes   int64
	Audit      []audit.Entry
}

// MemoryDelete ends the current version of a key in an audience at one level, and puts a tombstone there, which goes on covering
// the versions of lower levels. Where there is no version that has not expired it is [record.ErrNotFound];
// an id that is there already is [record.ErrDuplicate].
type MemoryDelete struct {
	Memory // of the tombstone: id, namespace, audience, label, key, session, run and the time of its update
	// Uncover lets the versions of lower levels be seen again. It takes away a tombstone, too, that is there already.
	Uncover bool
	Audit   []audit.Entry
}

// MemoryHistory asks for all versions of a key that are kept, with tombstones, up to a level.
type MemoryHistory struct {
	Key       string
	Namespace string   // empty: all of them
	Audience  Audience // empty: all of them
	MaxLevel  flow.Level
	After     MemoryID // the last version of the previous page; empty: from the newest on
	Limit     int
}

// MemoryKeyed asks for the memories of a key in a scope: at most one per namespace and audience.
type MemoryKeyed struct {
	MemoryScope
	Key   string
	First Audience // its memories come first; the others follow, newest first
	Limit int
}

// MemoryQuery lists what is in a scope by key and audience.
type MemoryQuery struct {
	MemoryScope
	Tag string // only what has it; empty: all
	// Tags asks for up to Limit memories of each of these, tag after tag, instead of Tag and After. A memory with several of them comes several times.
	Tags  []string
	Limit int
	After MemoryPlace // behind this place; zero: from the beginning
}

// MemoryPlace is a place in the order of a list. It need not be that of a memory.
type MemoryPlace struct {
	Namespace string
	Key       string
	Audience  Audience
}

// Cursor is the place as a text, which [ParseMemoryPlace] reads. It says nothing else.
func (p MemoryPlace) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.Namespace + "\n" + p.Key + "\n" + string(p.Audience))) // none of them has a line break
}

// ParseMemoryPlace reads what [MemoryPlace.Cursor] gave; any other text is an error.
func ParseMemoryPlace(cursor string) (MemoryPlace, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.Split(string(text), "\n")
	if err != nil || len(parts) != 3 {
		return MemoryPlace{}, errors.New("want the value of next from a page")
	}
	return MemoryPlace{Namespace: parts[0], Key: parts[1], Audience: Audience(parts[2])}, nil
}

// MemorySearch finds what is in a scope by words, the best first.
type MemorySearch struct {
	MemoryScope
	Text  string // any; what are not words in it does not count
	Limit int
}
