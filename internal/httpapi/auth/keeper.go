package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// recheckEvery bounds how long a stream goes on after another replica has taken its caller's access.
	recheckEvery = 2 * time.Second
	keepTimeout  = 10 * time.Second
)

// Keeper ends what callers do who have lost their access on another replica, and stores when tokens were used.
//
// Goroutines: run; Stop waits for it.
type Keeper struct {
	tokens *Tokens
	store  UseStore
	log    *slog.Logger

	ctx     context.Context // of the goroutine
	cancel  context.CancelFunc
	once    sync.Once
	running sync.WaitGroup
}

// NewKeeper makes a Keeper, which does nothing before Start.
func NewKeeper(tokens *Tokens, store UseStore, log *slog.Logger) *Keeper {
	k := &Keeper{tokens: tokens, store: store, log: log}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Start begins to keep.
func (k *Keeper) Start() { k.running.Go(k.run) }

// Stop stores what is left, within ctx, and ends the goroutine. It is idempotent.
func (k *Keeper) Stop(ctx context.Context) {
	k.once.Do(func() {
		k.cancel()
		k.running.Wait()
		k.storeUses(ctx)
	})
}

func (k *Keeper) run() {
	recheck, uses := time.NewTicker(recheckEvery), time.NewTicker(useEvery)
	defer recheck.Stop()
	defer uses.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-recheck.C:
			limited, done := context.WithTimeout(k.ctx, recheckEvery)
			k.tokens.live.Recheck(limited)
			done()
		case <-uses.C:
			k.storeUses(k.ctx)
		}
	}
}

func (k *Keeper) storeUses(ctx context.Context) {
	uses := k.tokens.uses.Take()
	if len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	if err := k.store.NoteUses(ctx, uses); err != nil {
		k.log.Debug("cannot store when tokens were last used", "err", err)
	}
}
