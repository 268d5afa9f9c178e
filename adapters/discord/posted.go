package discord

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"sync"

	"sluice/adapters"
)

// maxPosted is how many of the bot's messages are kept.
const maxPosted = 4096

// posted keeps the nonces of the bot's messages, which Discord returns only when a message is created. It is safe for
// concurrent use.
type posted struct {
	mu     sync.Mutex
	nonces *lru[string] // message id to nonce; empty if it isn't known
}

func newPosted() *posted { return &posted{nonces: newLRU[string](maxPosted)} }

func (p *posted) note(id, nonce string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.nonces.get(id); ok && nonce == "" {
		nonce = known
	}
	p.nonces.put(id, nonce)
}

func (p *posted) nonce(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	nonce, _ := p.nonces.get(id)
	return nonce
}

func (p *posted) is(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.nonces.get(id)
	return ok
}

// nonceOf returns the nonce of a message: the same for each try, with at most 25 characters.
func nonceOf(out adapters.Outbound) string {
	sum := sha256.Sum256([]byte(out.DeliveryID + "\x00" + strconv.Itoa(out.Part)))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// nonce returns the message's nonce as a text. Those of other programs may be numbers.
func (m *message) nonce() string {
	var text string
	if json.Unmarshal(m.Nonce, &text) != nil {
		return ""
	}
	return text
}

func number(id string) (uint64, bool) {
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil
}
