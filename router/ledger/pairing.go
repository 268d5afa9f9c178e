package ledger

import (
	"time"

	"sluice/sessions"
)

// Pairing is a person's request for access to an agent, and its result.
type Pairing struct {
	Channel, Account string
	User             sessions.Peer
	Conversation     sessions.ConversationID // where the person is told of the approval
	Code             string                  // empty once approved or revoked
	Status           PairingStatus
	Created, Expires time.Time
}

// PairingStatus is the state of a pairing.
type PairingStatus string

// The pairing statuses.
const (
	PairingPending  PairingStatus = "pending"
	PairingApproved PairingStatus = "approved"
	PairingRevoked  PairingStatus = "revoked"
	PairingDenied   PairingStatus = "denied" // by an owner; the person is not told, and gets no new code before Expires
)
