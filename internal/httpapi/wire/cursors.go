package wire

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

// Cursors encrypt the ids of events and audit entries. A plain id would tell a caller who may not see everything how
// much happens in other sessions.
type Cursors struct{ block cipher.Block }

// NewCursors makes cursors that all replicas with the same secret understand.
func NewCursors(secret [sha256.Size]byte) Cursors {
	key := sha256.Sum256(append([]byte("sluice event cursor\x00"), secret[:]...))
	block, _ := aes.NewCipher(key[:]) // never fails: the key has a valid length
	return Cursors{block}
}

func sessionSum(id sessions.ID) [sha256.Size]byte { return sha256.Sum256([]byte(id)) }

// Seal encrypts the number of an event of a session.
func (c Cursors) Seal(id sessions.ID, seq uint64) string {
	sum := sessionSum(id)
	plain := binary.BigEndian.AppendUint64(nil, seq)
	plain = append(plain, sum[:aes.BlockSize-len(plain)]...)
	c.block.Encrypt(plain, plain)
	return hex.EncodeToString(plain)
}

// Open reads what Seal gave. A cursor of another session, such as the one before a reset, gives 0, which means from now on.
func (c Cursors) Open(id sessions.ID, name string) (uint64, bool) {
	number, of, ok := c.plain(name)
	if sum := sessionSum(id); string(of) != string(sum[:len(of)]) {
		return 0, ok
	}
	return number, ok
}

// plain decrypts a cursor: the number it begins with, and the rest.
func (c Cursors) plain(name string) (number uint64, rest []byte, ok bool) {
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != aes.BlockSize {
		return 0, nil, false
	}
	c.block.Decrypt(raw, raw)
	number = binary.BigEndian.Uint64(raw)
	return number, raw[binary.Size(number):], true
}

// SealEntry encrypts the id of an audit entry, <time>-<hash>; empty if the id has another form.
func (c Cursors) SealEntry(id string) string {
	at, sum, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(at, 10, 64)
	raw, bad := hex.DecodeString(sum)
	plain := append(binary.BigEndian.AppendUint64(nil, n), raw...)
	if err != nil || bad != nil || len(plain) != aes.BlockSize {
		return ""
	}
	c.block.Encrypt(plain, plain)
	return hex.EncodeToString(plain)
}

// OpenEntry reads what SealEntry gave. Anything else gives an id that no entry has.
func (c Cursors) OpenEntry(name string) string {
	at, hash, ok := c.plain(name)
	if !ok {
		return "0-"
	}
	return fmt.Sprintf("%d-%x", at, hash)
}
