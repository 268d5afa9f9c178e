package app

import (
	"context"
	"log/slog"
	"strings"

	"sluice/internal/bus"
	"sluice/internal/config"
	"sluice/internal/httpapi/operator"
	"sluice/internal/selfcheck"
	"sluice/internal/settings"
	"sluice/internal/trouble"
	"sluice/store"
)

// others compares this replica with those that share a bus with it. The zero value has no others.
type others struct {
	replicas *bus.Replicas
	version  string
	database string // what tells the database from others; empty: not known
}

// newOthers compares a replica of a cluster with the others. database tells its database from others; empty: not known.
func newOthers(replicas *bus.Replicas, version, database string, cfg *config.Config) others {
	o := others{replicas, version, database}
	o.describe(cfg)
	return o
}

// databaseOf returns what tells the database from those of other gateways; empty if it can't be found out.
func databaseOf(ctx context.Context, cfg *config.Config, replica string, db *store.DB, log *slog.Logger) string {
	if cfg.Store.URL.Reveal() == "" {
		return "sqlite/" + replica // nobody else can use it
	}
	id, err := db.Identity(ctx)
	if err != nil {
		log.Warn("the database can't be identified: gateways on this bus that use another one are not reported", "err", err)
		return ""
	}
	return id
}

// ownKeys are the settings that may differ between replicas: addresses, folders and logs of a machine, and how it reaches what
// all of them share.
func ownKeys(path string) bool {
	switch section, _, _ := strings.Cut(path, "."); section {
	case "state", "store", "bus", "log":
		return true
	}
	return path == "gateway.listen" || strings.HasSuffix(path, ".workspace")
}

// describe makes the others know with which database and configuration this replica works.
func (o *others) describe(cfg *config.Config) {
	if o.replicas == nil {
		return
	}
	about := map[string]string{selfcheck.AboutVersion: o.version}
	if o.database != "" {
		about[selfcheck.AboutDatabase] = o.database
	}
	for section, sum := range settings.Sums(cfg, ownKeys) {
		about[selfcheck.AboutConfig+section] = sum
	}
	o.replicas.Describe(about)
}

// troubles are what is wrong with other replicas, or between them and this one.
func (o *others) troubles() []trouble.Trouble {
	if o.replicas == nil {
		return nil
	}
	return append(selfcheck.LostReplicas(o.replicas.Lost()), selfcheck.Differences(o.replicas.Unlike())...)
}

// part is the state of the replicas as a component, which is absent without others.
func (o *others) part() []operator.Health {
	if o.replicas == nil {
		return nil
	}
	var wrong []string
	for _, t := range o.troubles() {
		wrong = append(wrong, t.Title+". "+t.Text)
	}
	return []operator.Health{{Name: "replicas", OK: len(wrong) == 0, Optional: true, Detail: strings.Join(wrong, " ")}}
}
