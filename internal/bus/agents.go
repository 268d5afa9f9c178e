package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"

	"sluice/agentkit"
	"sluice/internal/program"
)

const (
	// framesMax and framesBytes are how far the gateway may fall behind the frames of a run.
	framesMax, framesBytes = 4096, 8 << 20
	// lookFor is how long instances may take to say that they are there, and instancesMax how many are listed.
	lookFor, instancesMax = 500 * time.Millisecond, 1000
)

// Agents brings turns to programs that are agents on the bus. It is safe for concurrent use.
type Agents struct {
	conn   func() *nats.Conn
	server func() *server.Server                  // nil: a cluster, whose accounts decide who connects
	agent  func(nkey string) (id string, ok bool) // see [Config]
	log    *slog.Logger
}

// connections are those of programs to the embedded server, by their keys.
func (a *Agents) connections() ([]*server.ConnInfo, error) {
	s := a.server()
	if s == nil || a.agent == nil {
		return nil, nil
	}
	all, err := s.Connz(&server.ConnzOptions{Username: true, Limit: clientsMax + 1})
	if err != nil {
		return nil, fmt.Errorf("list the connections to the bus: %w", err)
	}
	return slices.DeleteFunc(all.Conns, func(c *server.ConnInfo) bool { return !nkeys.IsValidPublicUserKey(c.AuthorizedUser) }), nil
}

// Recheck disconnects the programs whose key is not in the configuration any more.
func (a *Agents) Recheck() {
	found, err := a.connections()
	if err != nil {
		a.log.Warn("programs whose key was removed stay connected until the gateway restarts", "err", err)
		return
	}
	for _, c := range found {
		if _, ok := a.agent(c.AuthorizedUser); ok {
			continue
		}
		if err := a.server().DisconnectClientByID(c.Cid); err != nil {
			a.log.Debug("connection of a program has ended already", "err", err)
		}
	}
}

// honest keeps as many instances of an agent as programs are connected with its key: instances describe themselves.
func (a *Agents) honest(found []program.Instance) ([]program.Instance, error) {
	if a.server() == nil {
		return found, nil
	}
	connected, err := a.connections()
	if err != nil {
		return nil, err
	}
	left := map[string]int{}
	for _, c := range connected {
		if id, ok := a.agent(c.AuthorizedUser); ok {
			left[id]++
		}
	}
	return slices.DeleteFunc(found, func(i program.Instance) bool {
		left[i.Agent]--
		return left[i.Agent] < 0
	}), nil
}

var _ program.Carrier = (*Agents)(nil)

var errNoBus = errors.New("the bus is not open to programs: set bus.listen or bus.url")

// Begin implements [program.Carrier].
func (a *Agents) Begin(_ context.Context, run program.Run) (program.Line, error) {
	conn := a.conn()
	if conn == nil {
		return nil, errNoBus
	}
	out := agentkit.OutSubject(run.Agent, string(run.ID))
	sub, err := conn.SubscribeSync(out)
	if err == nil {
		err = sub.SetPendingLimits(framesMax, framesBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("listen to agent %s: %w", run.Agent, err)
	}
	return &agentLine{conn: conn, sub: sub, agent: run.Agent, run: string(run.ID), log: a.log}, nil
}

// agentLine is the way to a program on the bus during a run.
type agentLine struct {
	conn       *nats.Conn
	sub        *nats.Subscription
	agent, run string
	log        *slog.Logger

	turn []byte // that was sent to one instance; nil: any instance was asked
}

// Send implements [program.Line].
func (l *agentLine) Send(_ context.Context, turn []byte, at string) error {
	subject := agentkit.RunsSubject(l.agent)
	l.turn = nil
	if at != "" {
		subject, l.turn = subject+"."+at, turn
	}
	if err := l.conn.PublishRequest(subject, l.sub.Subject, turn); err != nil {
		return fmt.Errorf("send turn to agent %s: %w", l.agent, err)
	}
	return nil
}

// Next implements [program.Line].
func (l *agentLine) Next(ctx context.Context) ([]byte, error) {
	for {
		m, err := l.sub.NextMsgWithContext(ctx)
		absent := errors.Is(err, nats.ErrNoResponders)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			return nil, program.ErrFlood
		case absent && l.turn == nil:
			return nil, program.ErrAbsent
		case absent:
			if err := l.Send(ctx, l.turn, ""); err != nil { // the instance that waited has ended
				return nil, err
			}
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("listen to agent %s: %w", l.agent, err)
		case err != nil:
			return nil, context.Cause(ctx)
		default:
			return m.Data, nil
		}
	}
}

// Close implements [program.Line].
func (l *agentLine) Close(turn string) {
	if err := l.sub.Unsubscribe(); err != nil {
		l.log.Debug("subscription of a run not ended", "agent", l.agent, "err", err)
	}
	if turn == "" {
		return
	}
	text, err := json.Marshal(agentkit.Cancel{Run: l.run, Turn: turn})
	if err == nil {
		err = l.conn.Publish(agentkit.CancelSubject(l.agent), text)
	}
	if err != nil {
		l.log.Debug("agent not told that its turn is not wanted any more", "agent", l.agent, "run", l.run, "err", err)
	}
}

// Instances asks all instances of all agents' programs for what they say of themselves, by the protocol of NATS
// micro-services. Programs that do not answer in time are left out.
func (a *Agents) Instances(ctx context.Context) ([]program.Instance, error) {
	conn := a.conn()
	if conn == nil {
		return nil, nil
	}
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe() //nolint:errcheck // fails only if the connection is closed
		err = errors.Join(sub.SetPendingLimits(instancesMax, framesBytes), conn.PublishRequest("$SRV.STATS."+agentkit.ServiceName, inbox, nil))
	}
	if err != nil {
		return nil, fmt.Errorf("look for agents on the bus: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var found []program.Instance
	for len(found) < instancesMax {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break // the time is over, or there are none
		}
		var s micro.Stats
		if json.Unmarshal(m.Data, &s) != nil || s.Name != agentkit.ServiceName {
			continue
		}
		i := program.Instance{Agent: s.Metadata["agent"], ID: s.ID, Version: s.Version, Started: s.Started}
		for _, e := range s.Endpoints {
			i.Turns += e.NumRequests
		}
		found = append(found, i)
	}
	slices.SortFunc(found, func(x, y program.Instance) int {
		return cmp.Or(cmp.Compare(x.Agent, y.Agent), x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID))
	})
	return a.honest(found)
}
