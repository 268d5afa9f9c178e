package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
	conn   *nats.Conn                             // nil: the bus is not open to programs
	server *server.Server                         // nil: a cluster, whose accounts decide who connects
	agent  func(nkey string) (id string, ok bool) // see [Config]
	reader func() string                          // see [Config]
	log    *slog.Logger

	mu   sync.Mutex
	read string // the readers' password when connections were last looked at
}

// all are the connections to the embedded server.
func (a *Agents) all() ([]*server.ConnInfo, error) {
	if a.server == nil {
		return nil, nil
	}
	all, err := a.server.Connz(&server.ConnzOptions{Username: true, Limit: clientsMax + 1})
	if err != nil {
		return nil, fmt.Errorf("list the connections to the bus: %w", err)
	}
	return all.Conns, nil
}

func ofProgram(c *server.ConnInfo) bool { return nkeys.IsValidPublicUserKey(c.AuthorizedUser) }

// connections are those of programs to the embedded server, by their keys.
func (a *Agents) connections() ([]*server.ConnInfo, error) {
	if a.agent == nil {
		return nil, nil
	}
	all, err := a.all()
	return slices.DeleteFunc(all, func(c *server.ConnInfo) bool { return !ofProgram(c) }), err
}

// Recheck disconnects the programs whose key is no longer in the configuration and, if the readers' password has changed, all
// readers.
func (a *Agents) Recheck() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := ""
	if a.reader != nil {
		now = a.reader()
	}
	found, err := a.all()
	if err != nil {
		a.log.Warn("programs and readers that lost their access stay connected until the gateway restarts", "err", err)
		return
	}
	for _, c := range found {
		if ofProgram(c) && a.agent != nil {
			if _, ok := a.agent(c.AuthorizedUser); ok {
				continue
			}
		} else if own, err := a.conn.GetClientID(); now == a.read || err == nil && c.Cid == own {
			continue
		}
		if err := a.server.DisconnectClientByID(c.Cid); err != nil {
			a.log.Debug("connection has ended already", "err", err)
		}
	}
	a.read = now
}

// known are how many programs of each agent are connected to the embedded server; nil: it is not known.
func (a *Agents) known() (map[string]int, error) {
	if a.server == nil {
		return nil, nil
	}
	connected, err := a.connections()
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, c := range connected {
		if id, ok := a.agent(c.AuthorizedUser); ok {
			count[id]++
		}
	}
	return count, nil
}

var _ program.Carrier = (*Agents)(nil)

var errNoBus = errors.New("the bus is not open to programs: set bus.listen or bus.url")

// Begin implements [program.Carrier].
func (a *Agents) Begin(_ context.Context, run program.Run) (program.Line, error) {
	if a.conn == nil {
		return nil, errNoBus
	}
	out := agentkit.OutSubject(run.Agent, string(run.ID))
	sub, err := a.conn.SubscribeSync(out)
	if err == nil {
		err = sub.SetPendingLimits(framesMax, framesBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("listen to agent %s: %w", run.Agent, err)
	}
	return &agentLine{conn: a.conn, sub: sub, agent: run.Agent, run: string(run.ID), log: a.log}, nil
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
		l.log.Debug("could not tell the agent that its turn was cancelled", "agent", l.agent, "run", l.run, "err", err)
	}
}

// Instances asks all instances of all agents' programs for what they say of themselves, by the protocol of NATS
// micro-services. It leaves out programs that do not answer in time. With the embedded server it waits only for the
// programs that are connected, and lists as many instances of an agent: they describe themselves.
func (a *Agents) Instances(ctx context.Context) ([]program.Instance, error) {
	known, err := a.known()
	if err != nil || a.conn == nil || known != nil && len(known) == 0 {
		return nil, err
	}
	inbox := a.conn.NewInbox()
	sub, err := a.conn.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe() //nolint:errcheck // fails only if the connection is closed
		err = errors.Join(sub.SetPendingLimits(instancesMax, framesBytes), a.conn.PublishRequest("$SRV.STATS."+agentkit.ServiceName, inbox, nil))
	}
	if err != nil {
		return nil, fmt.Errorf("look for agents on the bus: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var found []program.Instance
	for len(found) < instancesMax && (known == nil || len(known) > 0) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break // the time is over, or nobody is there
		}
		i, ok := instanceOf(m.Data)
		if !ok || known != nil && known[i.Agent] == 0 {
			continue
		}
		if known != nil {
			if known[i.Agent]--; known[i.Agent] == 0 {
				delete(known, i.Agent)
			}
		}
		found = append(found, i)
	}
	slices.SortFunc(found, func(x, y program.Instance) int {
		return cmp.Or(cmp.Compare(x.Agent, y.Agent), x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID))
	})
	return found, nil
}

// instanceOf reads how an instance describes itself.
func instanceOf(text []byte) (i program.Instance, ok bool) {
	var s micro.Stats
	if json.Unmarshal(text, &s) != nil || s.Name != agentkit.ServiceName {
		return i, false
	}
	i = program.Instance{Agent: s.Metadata["agent"], ID: s.ID, Version: s.Version, Started: s.Started}
	for _, e := range s.Endpoints {
		i.Turns += e.NumRequests
	}
	return i, true
}
