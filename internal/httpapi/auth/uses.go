package auth

import (
	"context"
	"sync"
	"time"

	"sluice/router/ledger"
)

// useEvery is how exactly it is known when a token was last used.
const useEvery = time.Minute

// usesMax is how many different tokens and sign-ins are noted between two stores; further ones are noted with their next use.
const usesMax = 1000

// Uses notes when tokens and sign-ins were last used. It is safe for concurrent use.
type Uses struct {
	now func() time.Time

	mu     sync.Mutex
	noted  map[string]time.Time // since the last Take
	stored map[string]time.Time // what Take has returned
}

func newUses(now func() time.Time) *Uses {
	return &Uses{now: now, noted: map[string]time.Time{}, stored: map[string]time.Time{}}
}

// UseOfToken and UseOfSignIn name what was used.
func UseOfToken(name string) string { return "token:" + name }

// UseOfSignIn names a sign-in.
func UseOfSignIn(id string) string { return "sign-in:" + id }

func (u *Uses) note(who Caller) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.noteOne(UseOfToken(who.Name), now)
	if who.SignIn != "" {
		u.noteOne(UseOfSignIn(who.SignIn), now)
	}
}

func (u *Uses) noteOne(subject string, now time.Time) {
	if now.Sub(u.stored[subject]) < useEvery {
		return
	}
	if _, known := u.noted[subject]; known || len(u.noted) < usesMax {
		u.noted[subject] = now
	}
}

// Take returns what was used since the last call, to be stored.
func (u *Uses) Take() []ledger.Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.stored) > usesMax {
		clear(u.stored)
	}
	var all []ledger.Use
	for subject, at := range u.noted {
		all = append(all, ledger.Use{Subject: subject, At: at})
		u.stored[subject] = at
	}
	clear(u.noted)
	return all
}

// Noted returns what was used since the last call of Take.
func (u *Uses) Noted() []ledger.Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []ledger.Use
	for subject, at := range u.noted {
		all = append(all, ledger.Use{Subject: subject, At: at})
	}
	return all
}

// UseStore stores when tokens and sign-ins were last used.
type UseStore interface {
	NoteUses(ctx context.Context, uses []ledger.Use) error
}
