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
)

// probeTimeout bounds what one platform is asked.
const probeTimeout = 10 * time.Second

// Probed is what a platform says of one account.
type Probed struct {
	Channel, Account string
	Name             string // how the bot calls itself there
	Err              error  // what is wrong, and what to do
}

// Probe asks the platforms of a configuration who its accounts are, all at
// once, and disturbs no gateway that runs with them.
func Probe(ctx context.Context, cfg *config.Config, version string) []Probed {
	a := New(cfg, version, slog.New(slog.DiscardHandler))
	c := &channels{byName: map[[2]string]adapters.Adapter{}}
	if err := c.addPlatforms(a); err != nil {
		return []Probed{{Channel: "channels", Err: err}}
	}
	probed := make([]Probed, len(c.all))
	var wg sync.WaitGroup
	for i, adapter := range c.all {
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
		err = f.Err // the kind tells a person nothing
	}
	p.Err = err
	return p
}
