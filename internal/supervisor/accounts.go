package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"sluice/adapters"
)

// Accounts has the adapters of all accounts by their names. The zero value has none. Safe for concurrent use; Set and Put
// are for one goroutine at a time.
type Accounts struct{ now atomic.Pointer[Set] }

// Set is some accounts with their adapters.
type Set map[accountName]*opened

type accountName struct{ channel, account string }

// opened is an adapter with its settings; nil: the account is not in the configuration.
type opened struct {
	adapter adapters.Adapter
	made    any
}

// Open adds the adapters of a platform's accounts to a set. It keeps the current adapter of an account with the same settings.
func Open[T any](now *Accounts, into Set, channel string, accounts map[string]T, open func(name string, account T) (adapters.Adapter, error)) error {
	for name, account := range accounts {
		at := accountName{channel, name}
		if one := now.at(at); one != nil && reflect.DeepEqual(one.made, account) {
			into[at] = one
			continue
		}
		adapter, err := open(name, account)
		if err != nil {
			return fmt.Errorf("channels.%s.accounts.%s: %w", channel, name, err)
		}
		into[at] = &opened{adapter, account}
	}
	return nil
}

func (a *Accounts) at(name accountName) *opened {
	if now := a.now.Load(); now != nil {
		return (*now)[name]
	}
	return nil
}

// Set sets the accounts at the start: those of the configuration, and others.
func (a *Accounts) Set(all Set, others ...adapters.Adapter) {
	for _, o := range others {
		all[accountName{o.Channel(), o.Account()}] = &opened{adapter: o}
	}
	a.now.Store(&all)
}

// All are the adapters, in the order of their names.
func (a *Accounts) All() []adapters.Adapter {
	now := *a.now.Load()
	names := slices.SortedFunc(maps.Keys(now), func(a, b accountName) int {
		return cmp.Or(strings.Compare(a.channel, b.channel), strings.Compare(a.account, b.account))
	})
	out := make([]adapters.Adapter, len(names))
	for i, name := range names {
		out[i] = now[name].adapter
	}
	return out
}

// Put replaces the accounts of the configuration. Removed accounts end before new ones start, because an account may have a new
// name. Changed accounts get their new adapter and keep their lease.
func (a *Accounts) Put(next Set, running *Supervisor) {
	before := *a.now.Load()
	for name, one := range before {
		if one.made == nil {
			next[name] = one
		}
	}
	a.now.Store(&next)
	for name := range before {
		if next[name] == nil {
			running.Remove(name.channel, name.account)
		}
	}
	for name, one := range next {
		if before[name] != one {
			running.Put(one.adapter)
		}
	}
}

// Find returns the adapter of an account.
func (a *Accounts) Find(channel, account string) (adapters.Adapter, bool) {
	found := a.at(accountName{channel, account})
	if found == nil {
		return nil, false
	}
	return found.adapter, true
}
