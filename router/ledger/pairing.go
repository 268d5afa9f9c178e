package ledger

import (
	"time"

	"sluice/sessions"
)

// Pairing is a person's request to talk to an agent, and what became of it.
type Pairing struct {
	Channel, Account string
	User             sessions.Peer
	Conversation     sessions.ConversationID // where to tell that it was approved
	Code             string                  // empty once approved or revoked
	Status           PairingStatus
	Created, Expires time.Time
}

// PairingStatus is where a pairing stands.
type PairingStatus string

// The pairing statuses.
const (
	PairingPending  PairingStatus = "pending"
	PairingApproved PairingStatus = "approved"
	PairingRevoked  PairingStatus = "revoked"
	PairingDenied   PairingStatus = "denied" // by an owner; the person is not told, and gets no code before Expires
)
