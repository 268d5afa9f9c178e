package supervisor

import (
	"context"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
)

// watchEvery is how often accounts are checked for lost events.
const watchEvery = 10 * time.Second

// watch checks regularly whether an account's events are accepted, logs changes, and asks the platform how many
// events wait. stop ends it and waits for its end.
func (s *Supervisor) watch(ctx context.Context, acc *account) (stop func()) {
	acc.intake.restart()
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		taken, asked := -1, s.cfg.Now()
		pause.Rounds(ctx, watchEvery, watchEvery, s.cfg.Log, func(ctx context.Context) {
			s.report(acc)
			if s.cfg.Now().Sub(asked) >= backlogEvery {
				asked = s.cfg.Now()
				taken = acc.askBacklog(ctx, taken)
			}
		})
	})
	return func() { cancel(); done.Wait() }
}

// askBacklog asks the platform how many events wait, if the platform supports it and the account is connected.
func (a *account) askBacklog(ctx context.Context, taken int) (now int) {
	b, ok := a.with().(adapters.Backlogger)
	if st := a.current().Status; !ok || st != adapters.Connected && st != adapters.Deaf {
		return taken
	}
	ctx, cancel := context.WithTimeout(ctx, backlogLimit)
	defer cancel()
	waiting, detail, err := b.Backlog(ctx)
	if err != nil {
		return taken // the account's own state says what is wrong with the platform
	}
	return a.intake.backlog(waiting, detail, taken)
}

// report logs once that an account is deaf, and once that it has recovered.
func (s *Supervisor) report(acc *account) {
	st := acc.current()
	s.tell(acc, &st)
	deaf := st.Status == adapters.Deaf
	acc.mu.Lock()
	before := acc.deaf
	acc.deaf = deaf
	acc.mu.Unlock()
	gauge := s.deaf.WithLabelValues(st.Channel, st.Account)
	switch {
	case deaf && !before:
		gauge.Set(1)
		s.cfg.Log.Error("account is connected but receives no messages", "channel", st.Channel, "account", st.Account, "err", st.Detail)
	case !deaf && before:
		gauge.Set(0)
		s.cfg.Log.Info("account receives messages again", "channel", st.Channel, "account", st.Account)
	}
}
