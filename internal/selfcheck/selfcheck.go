// Package selfcheck finds what is wrong with a gateway: a disk that fills, a replica that is gone, an audit trail that was changed;
// and where its owner can be told. Its one goroutine is that of [Trail.Run], which its caller owns.
package selfcheck

import (
	"os"
	"slices"

	"github.com/dustin/go-humanize"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/internal/trouble"
	"sluice/internal/watermark"
	"sluice/router/outbound"
	"sluice/sessions"
)

// LostReplicas reports replicas that have ended without a farewell, until others have come for them.
func LostReplicas(names []string) (all []trouble.Trouble) {
	for _, name := range names {
		all = append(all, trouble.Trouble{
			Name: "replica/" + name, Severity: alert.Error, Title: "A replica is gone: " + name,
			Text: "It has stopped without an orderly end, or can't be reached. The others do its work. Start it again, or look at its log.",
		})
	}
	return all
}

// Disk warns when the disk is filling. stops says why no new messages are taken in, and may be nil; files says why no files are. Below the reserve, files are refused; below the last mark, messages.
func Disk(d *watermark.Disk, stops, files func() error) (trouble.Trouble, bool) {
	machine, _ := os.Hostname() // empty: all machines have one alert
	t := trouble.Trouble{Name: "disk/" + machine, Text: "Free space in the state folder, or set shorter times in `retention`."}
	free, low := d.Low()
	switch {
	case stops != nil && stops() != nil:
		t.Severity, t.Title = alert.Critical, "The disk is nearly full: new messages are not taken in (limits.diskStopBytes)"
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
// there is no other, and never the channel to avoid.
func WorkingPlace(owners []string, states []adapters.State, avoid, page string) (p outbound.Proactive, ok bool) {
	for _, who := range owners {
		channel, _, parsed := sessions.ParsePrincipal(who)
		if !parsed || channel == avoid || ok && p.Channel != page {
			continue
		}
		i := slices.IndexFunc(states, func(s adapters.State) bool {
			return s.Channel == channel && (s.Status == adapters.Connected || s.Status == adapters.Standby)
		})
		if i >= 0 {
			p, ok = outbound.Proactive{Channel: channel, Account: states[i].Account, To: outbound.ToOwner}, true
		}
	}
	return p, ok
}
