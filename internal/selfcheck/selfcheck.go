// Package selfcheck finds problems of the gateway: a disk that fills, a replica that is lost or differs from the others, a changed
// audit trail. It also finds a channel on which its owner can be notified. Its only goroutine is that of [Trail.Run], which its
// caller owns.
package selfcheck

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/internal/trouble"
	"sluice/internal/watermark"
	"sluice/router/outbound"
	"sluice/sessions"
)

// rollout is how long the replicas may take to get a change of their configuration.
const rollout = 5 * time.Minute

// LostReplicas reports replicas that ended without saying farewell, until others have replaced them.
func LostReplicas(names []string) (all []trouble.Trouble) {
	for _, name := range names {
		all = append(all, trouble.Trouble{
			Name: "replica/" + name, Severity: alert.Error, Title: "A replica is lost: " + name,
			Text: "It has crashed, or can't be reached. The other replicas have taken over its work. Look at its log, and start it again.",
		})
	}
	return all
}

// Names of what replicas say of themselves, see [Differences]. The section of a configuration follows AboutConfig.
const (
	AboutDatabase = "database"
	AboutVersion  = "version"
	AboutConfig   = "config/"
)

// Differences reports that gateways on one bus use different databases or different configurations. unlike is in what other
// replicas differ from this one, and which replicas. The configurations of other versions and databases are
// not compared: during an upgrade the versions differ for a while, and with them what each section has.
func Differences(unlike map[string][]string) (all []trouble.Trouble) {
	others := slices.Concat(unlike[AboutDatabase], unlike[AboutVersion])
	var sections, differ []string
	for about, names := range unlike {
		section, config := strings.CutPrefix(about, AboutConfig)
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
		if config && len(names) > 0 {
			sections, differ = append(sections, section), append(differ, names...)
		}
	}
	slices.Sort(sections)
	slices.Sort(differ)
	if len(unlike[AboutDatabase]) > 0 {
		all = append(all, trouble.Trouble{
			Name: "replicas/database", Severity: alert.Critical, Title: "Gateways with different databases use the same NATS account",
			Text: "They share the work, so each database has messages that no gateway works on. " +
				"Give the gateways of each database their own NATS account (bus.url), and restart them. Gateways with another database: " + strings.Join(unlike[AboutDatabase], ", ") + ".",
		})
	}
	if len(sections) > 0 {
		all = append(all, trouble.Trouble{
			Name: "replicas/config", For: rollout, Severity: alert.Warning, Title: "Replicas run with different configurations: " + strings.Join(sections, ", "),
			Text: "A change on the page or with `sluice config` is saved by one replica only. Make it on all of them; `sluice config list` shows what the replica that answers uses. " +
				"Replicas with another configuration: " + strings.Join(slices.Compact(differ), ", ") + ".",
		})
	}
	return all
}

// Disk warns when the disk is filling. stops returns why new messages are refused, and may be nil; files returns why files are
// refused.
func Disk(d *watermark.Disk, stops, files func() error) (trouble.Trouble, bool) {
	machine, _ := os.Hostname() // empty: all machines have one alert
	t := trouble.Trouble{Name: "disk/" + machine, Text: "Free space on the disk of the state folder, or shorten the times in `retention`."}
	free, low := d.Low()
	switch {
	case stops != nil && stops() != nil:
		t.Severity, t.Title = alert.Critical, "The disk is nearly full: new messages are refused (limits.diskStopBytes)"
	case files() != nil:
		t.Severity, t.Title = alert.Critical, "The disk is full: files are refused (limits.reserveBytes)"
	case low:
		t.Severity, t.Title = alert.Warning, "The disk is filling: "+humanize.IBytes(uint64(free))+" are free (limits.diskWarnBytes)"
	default:
		return t, false
	}
	return t, true
}

// WorkingPlace is where an owner can be reached: the first owner on a channel with a connected account, but the page only if
// there is no other, and never the channel to avoid. If no account is connected and no channel is to avoid, it is the first owner
// on a deaf account, which can send, else on any account, where the message waits.
func WorkingPlace(owners []string, states []adapters.State, avoid string) (p outbound.Proactive, ok bool) {
	p, ok = firstPlace(owners, states, avoid, (*adapters.State).Hears)
	if !ok && avoid == "" {
		p, ok = firstPlace(owners, states, "", func(s *adapters.State) bool { return s.Status == adapters.Deaf })
	}
	if !ok && avoid == "" {
		p, ok = firstPlace(owners, states, "", func(*adapters.State) bool { return true })
	}
	return p, ok
}

func firstPlace(owners []string, states []adapters.State, avoid string, works func(s *adapters.State) bool) (p outbound.Proactive, ok bool) {
	for _, who := range owners {
		channel, _, parsed := sessions.ParsePrincipal(who)
		if !parsed || channel == avoid || ok && p.Channel != adapters.Page {
			continue
		}
		i := slices.IndexFunc(states, func(s adapters.State) bool {
			return s.Channel == channel && works(&s)
		})
		if i >= 0 {
			p, ok = outbound.Proactive{Channel: channel, Account: states[i].Account, To: outbound.ToOwner}, true
		}
	}
	return p, ok
}
