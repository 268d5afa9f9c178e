package adapters

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Shared registers counters that all accounts of a platform share: each account gets those that the first one
// registered. A nil r registers nothing.
func Shared(r prometheus.Registerer, counters ...**prometheus.CounterVec) error {
	if r == nil {
		return nil
	}
	for _, c := range counters {
		err := r.Register(*c)
		if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
			if vec, ok := known.ExistingCollector.(*prometheus.CounterVec); ok {
				*c, err = vec, nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
