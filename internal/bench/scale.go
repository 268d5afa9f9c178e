package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/internal/pause"
)

const (
	idleFor = 10 * time.Second
	// countsLate is how long after a transaction the database counts it.
	countsLate = 1500 * time.Millisecond
)

// fleetSizes are the numbers of replicas that are measured, and clusterSize is the number of servers of a NATS cluster.
var fleetSizes = []int{1, 2, 4}

const clusterSize = 3

// scaled is what was measured with a number of replicas. Each has a value for each round.
type scaled struct {
	replicas    int
	bus         int       // NATS servers
	rate        []float64 // messages a second
	connections []float64 // to the database
	message     map[string][]float64
	idle        map[string][]float64
}

// figures are the rows of the table about messages, in its order.
var figures = []struct {
	name, words string
	format      func(float64) string
	of          func(u usage) float64
}{
	{"replicas", "processor time a message: replicas", milliseconds, func(u usage) float64 { return inMilliseconds(u.replicas) }},
	{"database", "processor time a message: PostgreSQL", milliseconds, func(u usage) float64 { return inMilliseconds(u.database) }},
	{"bus", "processor time a message: NATS", milliseconds, func(u usage) float64 { return inMilliseconds(u.bus) }},
	{"commits", "transactions of PostgreSQL a message", counted, func(u usage) float64 { return u.commits }},
	{"log", "bytes of PostgreSQL's log (WAL) a message", whole, func(u usage) float64 { return u.log }},
	{"published", "messages that NATS received a message", counted, func(u usage) float64 { return u.published }},
	{"sent", "messages that NATS sent a message", counted, func(u usage) float64 { return u.sent }},
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// counted writes a number that is below 0 only by an error of the measurement.
func counted(v float64) string { return ratio(max(v, 0)) }

// measureScale measures what a message costs with several replicas, how much each part can do, and how long partitions
// take to move.
func measureScale(ctx context.Context, b *bench) error {
	return b.onPostgres(ctx, "pgscale", func(cluster *postgres) error {
		all, err := b.scale(ctx, cluster, 1)
		if err != nil {
			return err
		}
		b.report.tables = append(b.report.tables, scaleTable(all), modelTable(all))
		moved, err := b.measureMoves(ctx, cluster)
		if err != nil {
			return err
		}
		b.report.tables = append(b.report.tables, moved)
		return nil
	})
}

// measureCluster measures what a message costs if NATS is a cluster of three servers.
func measureCluster(ctx context.Context, b *bench) error {
	return b.onPostgres(ctx, "pgcluster", func(cluster *postgres) error {
		all, err := b.scale(ctx, cluster, clusterSize)
		if err != nil {
			return err
		}
		b.report.tables = append(b.report.tables, scaleTable(all), modelTable(all))
		return nil
	})
}

// onPostgres starts PostgreSQL in a folder, for one measurement.
func (b *bench) onPostgres(ctx context.Context, folder string, measure func(cluster *postgres) error) (err error) {
	cluster, err := startPostgres(ctx, filepath.Join(b.dir, folder))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	return measure(cluster)
}

// scale measures fleets of all sizes with some NATS servers.
func (b *bench) scale(ctx context.Context, cluster *postgres, servers int) (all []*scaled, err error) {
	for _, n := range fleetSizes {
		s := &scaled{replicas: n, bus: servers, message: map[string][]float64{}, idle: map[string][]float64{}}
		for range b.rounds {
			if err := b.scaleRound(ctx, cluster, s); err != nil {
				return nil, fmt.Errorf("%d replicas: %w", n, err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// scaleRound measures one new fleet.
func (b *bench) scaleRound(ctx context.Context, cluster *postgres, s *scaled) error {
	f, err := b.newFleet(ctx, cluster, s.bus)
	if err != nil {
		return err
	}
	defer f.close()
	for range s.replicas {
		if err := f.add(ctx, b.newState()); err != nil {
			return err
		}
	}
	if _, err := f.settled(ctx, time.Now()); err != nil {
		return err
	}
	idle, err := f.during(ctx, func() error { return pause.Wait(ctx, idleFor) })
	if err != nil {
		return err
	}
	c := &crowd{people: f.audience, first: firstPerson}
	c.begin(chats)
	if err := pause.Wait(ctx, warmUp); err != nil {
		return err
	}
	before, began := c.answers.Load(), time.Now()
	var rate, connections float64
	used, err := f.during(ctx, func() error {
		if err := pause.Wait(ctx, b.load); err != nil {
			return err
		}
		rate = float64(c.answers.Load()-before) / time.Since(began).Seconds()
		var err error
		if connections, err = f.connections(ctx); err != nil {
			return err
		}
		if err := c.end(ctx); err != nil {
			return err
		}
		return pause.Wait(ctx, countsLate)
	})
	if err != nil {
		return err
	}
	used = used.less(idle.times(time.Since(began).Seconds() / idleFor.Seconds()))
	n := float64(c.answers.Load() - before)
	if n == 0 {
		return errNoAnswer
	}
	s.rate, s.connections = append(s.rate, rate), append(s.connections, connections)
	for _, figure := range figures {
		s.message[figure.name] = append(s.message[figure.name], figure.of(used)/n)
		s.idle[figure.name] = append(s.idle[figure.name], figure.of(idle)/idleFor.Seconds())
	}
	return nil
}

// during returns what everything uses while something happens.
func (f *fleet) during(ctx context.Context, happens func() error) (usage, error) {
	before, err := f.measure(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := happens(); err != nil {
		return usage{}, err
	}
	after, err := f.measure(ctx)
	return after.less(before), err
}

// scaleTable has a column for each number of replicas.
func scaleTable(all []*scaled) string {
	var out table
	out.head("replicas", all)
	out.line("messages answered a second, all on this machine", all, func(s *scaled) (func(float64) string, []float64) { return perSecond, s.rate })
	for _, figure := range figures {
		out.line(figure.words, all, func(s *scaled) (func(float64) string, []float64) { return figure.format, s.message[figure.name] })
	}
	out.line("connections to PostgreSQL", all, func(s *scaled) (func(float64) string, []float64) { return whole, s.connections })
	for _, figure := range figures[:3] {
		words := strings.Replace(figure.words, "a message", "a second without messages", 1)
		out.line(words, all, func(s *scaled) (func(float64) string, []float64) { return figure.format, s.idle[figure.name] })
	}
	out.line("messages that NATS received a second without messages", all, func(s *scaled) (func(float64) string, []float64) { return whole, s.idle["published"] })
	return out.String()
}

// table is a table with a column for each number of replicas.
type table struct{ strings.Builder }

func (t *table) head(what string, all []*scaled) {
	fmt.Fprintf(t, "| %s |", what)
	for _, s := range all {
		fmt.Fprintf(t, " %d |", s.replicas)
	}
	t.WriteString("\n| --- |" + strings.Repeat(" --- |", len(all)) + "\n")
}

func (t *table) line(what string, all []*scaled, of func(*scaled) (func(float64) string, []float64)) {
	fmt.Fprintf(t, "| %s |", what)
	for _, s := range all {
		format, values := of(s)
		fmt.Fprintf(t, " %s |", row{values: slices.Sorted(slices.Values(values)), format: format}.text())
	}
	t.WriteString("\n")
}

// cost is the processor time of a message in one part: fixed + handed × (1 − 1/N) ms with N replicas.
type cost struct{ fixed, handed float64 }

func (c cost) with(replicas float64) float64 { return c.fixed + c.handed*(1-1/replicas) }

// fit returns the cost that fits the measurements best (least squares).
func fit(all []*scaled, name string) cost {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, s := range all {
		x := 1 - 1/float64(s.replicas)
		for _, y := range s.message[name] {
			n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
		}
	}
	handed := (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
	return cost{fixed: (sumY - handed*sumX) / n, handed: handed}
}

// modelTable shows how many messages one core of each part can process.
func modelTable(all []*scaled) string {
	var out table
	out.WriteString("| part | a, ms | b, ms | messages a second and core, 1 replica | 4 replicas | many |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, figure := range figures[:3] {
		c := fit(all, figure.name)
		fmt.Fprintf(&out, "| %s | %.3f | %.3f |", strings.TrimPrefix(figure.words, "processor time a message: "), c.fixed, c.handed)
		for _, replicas := range []float64{1, 4, 1e9} {
			fmt.Fprintf(&out, " %.0f |", 1000/c.with(replicas))
		}
		out.WriteString("\n")
	}
	database, replicas := fit(all, "database"), fit(all, "replicas")
	fmt.Fprintf(&out, "\nOne core of PostgreSQL keeps %.1f cores of replicas busy (many replicas).\n", replicas.with(1e9)/database.with(1e9))
	return out.String()
}
