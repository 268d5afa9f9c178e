// Package address has the ids and addresses of the gateway: sessions and their keys, routes to conversations, people, runs, messages and
// lanes. An adapter needs no more of sessions than this.
package address

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/google/uuid"
)

// ID names one session forever: "sess_" and 12 lower-case hex digits. A reset gives the key a new one.
type ID string

// RunID names a run: "run_" and 32 hex digits that sort by time.
type RunID string

// MessageID names a message of a conversation tree: "msg_" and 32 hex digits that sort by time.
type MessageID string

// NewID makes a session id.
func NewID() ID {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return ID("sess_" + hex.EncodeToString(b[:]))
}

// NewRunID makes a run id.
func NewRunID() RunID { return RunID("run_" + sortableHex()) }

// NewMessageID makes a message id.
func NewMessageID() MessageID { return MessageID("msg_" + sortableHex()) }

func sortableHex() string {
	u := uuid.Must(uuid.NewV7())
	return hex.EncodeToString(u[:])
}

// ParseID reads a session id.
func ParseID(s string) (ID, error) {
	if err := parseHexID(s, "sess_", 12); err != nil {
		return "", fmt.Errorf("session id %q: %w", s, err)
	}
	return ID(s), nil
}

// ParseRunID reads a run id.
func ParseRunID(s string) (RunID, error) {
	if err := parseHexID(s, "run_", 32); err != nil {
		return "", fmt.Errorf("run id %q: %w", s, err)
	}
	return RunID(s), nil
}

// ParseMessageID reads a message id.
func ParseMessageID(s string) (MessageID, error) {
	if err := parseHexID(s, "msg_", 32); err != nil {
		return "", fmt.Errorf("message id %q: %w", s, err)
	}
	return MessageID(s), nil
}

func parseHexID(s, prefix string, digits int) error {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != digits {
		return fmt.Errorf("want %s and %d hex digits", prefix, digits)
	}
	for _, c := range rest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("want %s and %d hex digits", prefix, digits)
		}
	}
	return nil
}

// Lane names what must stay in order: a session id, or [Route.Lane] of a conversation.
type Lane string

// SessionLane is the lane of a session's runs.
func SessionLane(id ID) Lane { return Lane(id) }

// Partition is the owner unit of a lane: FNV-1a(lane) modulo partitions.
// It is stored with each row, so the hash may never change.
func (l Lane) Partition(partitions int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(l)) // never fails
	return int(h.Sum32() % uint32(partitions))
}

// MediaID names a stored file: "med_" and 32 hex digits that sort by time.
type MediaID string

// NewMediaID makes a media id.
func NewMediaID() MediaID { return MediaID("med_" + sortableHex()) }
