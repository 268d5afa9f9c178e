package httpapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"sluice/sessions"
)

// cursors hide the numbers of events, which count what happens in all sessions, from callers who may not know of all.
type cursors struct{ cipher.Block }

// newCursors makes cursors that all replicas with the same token understand.
func newCursors(credentials []hashed) cursors {
	var secret [sha256.Size]byte
	if len(credentials) > 0 {
		secret = credentials[0].sum
	}
	key := sha256.Sum256(append([]byte("sluice event cursor\x00"), secret[:]...))
	block, _ := aes.NewCipher(key[:]) // never fails: the key is as long as one may be
	return cursors{block}
}

func sessionSum(id sessions.ID) [sha256.Size]byte { return sha256.Sum256([]byte(id)) }

// seal is the name of an event's number in a session.
func (c cursors) seal(id sessions.ID, seq uint64) string {
	sum := sessionSum(id)
	plain := binary.BigEndian.AppendUint64(nil, seq)
	plain = append(plain, sum[:aes.BlockSize-len(plain)]...)
	c.Encrypt(plain, plain)
	return hex.EncodeToString(plain)
}

// open reads what seal gave. One of another session, as that before a reset, is 0: it begins now.
func (c cursors) open(id sessions.ID, name string) (uint64, bool) {
	number, of, ok := c.plain(name)
	if sum := sessionSum(id); string(of) != string(sum[:len(of)]) {
		return 0, ok
	}
	return number, ok
}

// plain is the number that a cursor begins with, and what stands behind it.
func (c cursors) plain(name string) (number uint64, rest []byte, ok bool) {
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != aes.BlockSize {
		return 0, nil, false
	}
	c.Decrypt(raw, raw)
	number = binary.BigEndian.Uint64(raw)
	return number, raw[binary.Size(number):], true
}

// sealEntry hides what the id of an entry of the audit trail, <time>-<hash>, is made of.
func (c cursors) sealEntry(id string) string {
	at, sum, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(at, 10, 64)
	raw, bad := hex.DecodeString(sum)
	plain := append(binary.BigEndian.AppendUint64(nil, n), raw...)
	if err != nil || bad != nil || len(plain) != aes.BlockSize {
		return "" // it is no entry's
	}
	c.Encrypt(plain, plain)
	return hex.EncodeToString(plain)
}

// openEntry reads what sealEntry gave; anything else is the id of no entry.
func (c cursors) openEntry(name string) string {
	at, hash, ok := c.plain(name)
	if !ok {
		return "0-"
	}
	return fmt.Sprintf("%d-%x", at, hash)
}
