package httpapi

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sluice/sessions"
)

// errRisen ends a stream whose session has risen above its reader.
var errRisen = errors.New("the session is above the caller's level")

// still is nil while the session that a stream shows is within the caller's level.
func (s *Server) still(ctx context.Context, id sessions.ID) error {
	who := callerOf(ctx)
	taint, err := s.taintFor(ctx, who, id)
	if err == nil && !who.sees(taint) {
		s.denied(ctx, object{"session", string(id), id, taint}, whyAbove)
		err = errRisen
	}
	return err
}

// show passes an event on if the caller may see it. The session is looked at for each: its taint is stored
// before what made it rise can be told, so that nothing is shown of what comes after, whatever its own label.
func (s *Server) show(ctx context.Context, out *stream, e sessions.Event) error {
	who := callerOf(ctx)
	if who.seesAll() {
		return out.event(e)
	}
	if err := s.still(ctx, out.session); err != nil {
		return err
	}
	if !who.sees(e.Label) {
		return nil
	}
	return out.event(e)
}

// pass is show for the caller's own turn, whose end they are told whatever it is: what comes before is left out, and the stream goes on.
func (s *Server) pass(ctx context.Context, out *stream, e sessions.Event) error {
	if err := s.show(ctx, out, e); !errors.Is(err, errRisen) {
		return err
	}
	return nil
}

// veiled is a run's end without its usage and label, which tell of what its text does not.
func veiled(e sessions.Event) sessions.Event {
	return sessions.Event{Session: e.Session, Run: e.Run, Seq: e.Seq, Type: e.Type, Text: e.Text, At: e.At}
}

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
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != aes.BlockSize {
		return 0, false
	}
	c.Decrypt(raw, raw)
	sum := sessionSum(id)
	const number = 8
	if string(raw[number:]) != string(sum[:aes.BlockSize-number]) {
		return 0, true
	}
	return binary.BigEndian.Uint64(raw), true
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
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != aes.BlockSize {
		return "0-"
	}
	c.Decrypt(raw, raw)
	const number = 8
	return fmt.Sprintf("%d-%x", binary.BigEndian.Uint64(raw), raw[number:])
}

// lastSeen is the number of the last event of a session that the caller has: a browser's header, or the query's after.
func (s *Server) lastSeen(r *http.Request, id sessions.ID) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" || text == "0" {
		return 0, nil
	}
	if !callerOf(r.Context()).seesAll() {
		if n, ok := s.cursors.open(id, text); ok {
			return n, nil
		}
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	return 0, badRequest("after: want the id of an event of this session")
}
