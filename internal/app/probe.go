package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/config"
	"sluice/internal/supervisor"
)

// probeTimeout bounds the questions to one platform.
const probeTimeout = 10 * time.Second

// Probed is a platform's answer about one account.
type Probed struct {
	Channel, Account string
	Name             string // the bot's name there
	Err              error  // what is wrong, and what to do
}

// Probe asks the platforms for the profiles of the configured accounts, all at once. It does not disturb a gateway
// that uses them.
func Probe(ctx context.Context, cfg *config.Config, version string) []Probed {
	a := New(cfg, version, slog.New(slog.DiscardHandler))
	c := &supervisor.Accounts{}
	accounts, err := configured(c, a, cfg)
	if err != nil {
		return []Probed{{Channel: "channels", Err: err}}
	}
	c.Set(accounts)
	all := c.All()
	probed := make([]Probed, len(all))
	var wg sync.WaitGroup
	for i, adapter := range all {
		wg.Go(func() { probed[i] = probe(ctx, adapter) })
	}
	wg.Wait()
	return probed
}

func probe(ctx context.Context, a adapters.Adapter) (p Probed) {
	p.Channel, p.Account = a.Channel(), a.Account()
	defer func() {
		if failed := recover(); failed != nil {
			p.Err = fmt.Errorf("panic: %v", failed)
		}
	}()
	if c, ok := a.(interface{ Close() }); ok {
		defer c.Close()
	}
	prober, ok := a.(adapters.Prober)
	if !ok {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	self, err := prober.Probe(ctx)
	p.Name = self.Name
	if self.Username != "" {
		p.Name = "@" + self.Username
	}
	if f, ok := errors.AsType[*adapters.Failure](err); ok {
		err = f.Err // the kind means nothing to a person
	}
	p.Err = err
	return p
}
