package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"sluice/internal/chaos/balancer"
	"sluice/internal/chaos/child"
	"sluice/internal/freeport"
)

// fleetBots is how many bots the people of a fleet write to. The Telegram server posts four updates of a bot at once.
const fleetBots = 4

// fleet is some replicas on one database and one NATS server or cluster, behind a load balancer to which Telegram posts.
type fleet struct {
	*audience
	binary   string
	common   child.Config // of all replicas
	database *sql.DB
	cluster  *postgres
	bus      *nats
	balancer *balancer.Balancer
	front    *httptest.Server
	replicas []*replica
}

// replica is one gateway of a fleet.
type replica struct {
	config  child.Config
	process *child.Process
}

// newFleet prepares a fleet without replicas on a new database and some new NATS servers.
func (b *bench) newFleet(ctx context.Context, cluster *postgres, servers int) (*fleet, error) {
	f := &fleet{binary: b.binary, cluster: cluster, balancer: balancer.New()}
	if err := f.prepare(ctx, b.dir, servers); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *fleet) prepare(ctx context.Context, dir string, servers int) error {
	url, err := f.cluster.create(ctx, "scale"+strconv.FormatInt(lives.Add(1), 10))
	if err != nil {
		return err
	}
	if f.database, err = sql.Open("pgx", url); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if f.bus, err = startNATS(ctx, dir, servers); err != nil {
		return err
	}
	var tokens []string
	for i := range fleetBots {
		tokens = append(tokens, fmt.Sprintf("%d:token-of-a-bot-of-the-fleet", 1000001+i))
	}
	if f.audience, err = newAudience(tokens...); err != nil {
		return err
	}
	f.front = httptest.NewServer(f.balancer)
	f.common = child.Config{Model: instant, QueueMode: "followup", StoreURL: url, BusURL: f.bus.url, Channels: f.channels(tokens)}
	return nil
}

// channels configures the bots, whose updates are posted to the balancer.
func (f *fleet) channels(tokens []string) string {
	var text strings.Builder
	text.WriteString("  telegram:\n    dmPolicy: open\n    accounts:\n")
	for i, token := range tokens {
		fmt.Fprintf(&text, "      bot%d: { token: %q, apiBase: %q, mode: webhook, secret: s3cret, webhookURL: %q }\n",
			i, token, f.fake.URL(), fmt.Sprintf("%s/channels/telegram/bot%d", f.front.URL, i))
	}
	return text.String()
}

// add starts a replica and waits until it is ready.
func (f *fleet) add(ctx context.Context, state string) error {
	addr, err := freeport.Addr()
	if err != nil {
		return err
	}
	r := &replica{config: f.common}
	r.config.State, r.config.Listen = state, addr
	if r.process, err = child.Start(f.binary, r.config); err != nil {
		return err
	}
	f.replicas = append(f.replicas, r)
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := r.process.WaitReady(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, logEnd(r.config))
	}
	f.forward()
	return nil
}

// forward tells the balancer which replicas there are.
func (f *fleet) forward() {
	addrs := make([]string, len(f.replicas))
	for i, r := range f.replicas {
		addrs[i] = r.config.Listen
	}
	f.balancer.Set(addrs)
}

// remove ends the newest replica: with SIGKILL, or in an orderly way.
func (f *fleet) remove(kill bool) error {
	last := len(f.replicas) - 1
	r := f.replicas[last]
	f.replicas = f.replicas[:last]
	if kill {
		r.process.Kill()
		f.forward()
		return nil
	}
	f.forward() // as a load balancer does that sees /readyz fail before the socket closes
	code, err := r.process.Terminate(exitWithin)
	if err == nil && code != 0 {
		err = fmt.Errorf("the replica ended with code %d\n%s", code, logEnd(r.config))
	}
	return err
}

// close ends everything but the database server.
func (f *fleet) close() {
	for _, r := range f.replicas {
		r.process.Kill()
	}
	if f.audience != nil {
		f.fake.Close()
	}
	if f.front != nil {
		f.front.Close()
	}
	if f.bus != nil {
		f.bus.stop()
	}
	if f.database != nil {
		_ = f.database.Close() // only read from
	}
	f.balancer.Close()
}

// usage is what everything has used so far.
type usage struct {
	replicas, database, bus time.Duration // processor time
	published, sent         float64       // messages on NATS
	commits, log            float64       // transactions of PostgreSQL, and bytes of its log
}

// measure returns what everything has used so far.
func (f *fleet) measure(ctx context.Context) (u usage, err error) {
	for _, r := range f.replicas {
		used, err := processorTime(r.process.Pid())
		if err != nil {
			return u, err
		}
		u.replicas += used
	}
	if u.database, err = f.cluster.processorTime(); err != nil {
		return u, err
	}
	if u.bus, err = f.bus.processorTime(); err != nil {
		return u, err
	}
	if u.published, u.sent, err = f.bus.traffic(ctx); err != nil {
		return u, err
	}
	err = f.database.QueryRowContext(ctx, `SELECT xact_commit::float8, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&u.commits, &u.log)
	if err != nil {
		return u, fmt.Errorf("read PostgreSQL's figures: %w", err)
	}
	return u, nil
}

// less returns u without what was used before.
func (u usage) less(before usage) usage {
	return usage{
		replicas: u.replicas - before.replicas, database: u.database - before.database, bus: u.bus - before.bus,
		published: u.published - before.published, sent: u.sent - before.sent,
		commits: u.commits - before.commits, log: u.log - before.log,
	}
}

// times returns u multiplied by a factor.
func (u usage) times(factor float64) usage {
	long := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	return usage{
		replicas: long(u.replicas), database: long(u.database), bus: long(u.bus),
		published: u.published * factor, sent: u.sent * factor, commits: u.commits * factor, log: u.log * factor,
	}
}

// connections returns how many connections the replicas have to the database.
func (f *fleet) connections(ctx context.Context) (n float64, err error) {
	err = f.database.QueryRowContext(ctx, `SELECT count(*)::float8 FROM pg_stat_activity WHERE application_name = 'sluice' AND datname = current_database()`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count connections: %w", err)
	}
	return n, nil
}

// epochs returns the sum of the partitions' epochs, which grows when a partition gets another owner.
func (f *fleet) epochs(ctx context.Context) (sum int64, err error) {
	err = f.database.QueryRowContext(ctx, `SELECT COALESCE(sum(epoch), 0)::bigint FROM partitions`).Scan(&sum)
	if err != nil {
		return 0, fmt.Errorf("read owners of partitions: %w", err)
	}
	return sum, nil
}
