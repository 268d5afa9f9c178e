package cli

import (
	"context"
	"fmt"
	"strings"

	"sluice/internal/sandbox"
	"sluice/sessions"
)

// installSandbox is the command that mends a missing sandbox.
const installSandbox = "sudo apt-get install bubblewrap (or your distribution's package of it), then sluice doctor"

// sandbox looks whether commands can run in a sandbox, where agents want one.
func (d *doctor) sandbox(ctx context.Context) {
	var required, optional []string
	for _, a := range d.cfg.Agents.List {
		switch sessions.SandboxMode(a.Sandbox.Mode) {
		case sessions.SandboxRequired:
			required = append(required, a.ID)
		case sessions.SandboxOptional:
			optional = append(optional, a.ID)
		}
	}
	if len(required)+len(optional) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	err := sandbox.New("").Available(ctx)
	switch {
	case err == nil:
		d.add(sound("sandbox", "bubblewrap works"))
		d.add(d.commandBounds())
	case len(required) > 0:
		d.add(wrong("sandbox", err.Error()+"; so "+strings.Join(required, ", ")+" can run no commands", installSandbox))
	default:
		d.add(finding{part: "sandbox", text: err.Error() + "; " + strings.Join(optional, ", ") + " would use it", mend: installSandbox, note: true})
	}
}

// commandBounds says what keeps the commands of agents within their bounds here, and how to get more.
func (d *doctor) commandBounds() finding {
	l := d.cfg.Limits
	text := fmt.Sprintf("at most %s of memory and %d processes, kept by limits of each process and by counting", l.CommandMemory, l.CommandProcesses)
	memory, tasks := sandbox.KernelBounds()
	switch {
	case memory == "" || tasks == "":
		return finding{
			part: "commands", note: true, text: text + "; no control group bounds the gateway and its commands together",
			mend: "set MemoryMax= and TasksMax= in the gateway's systemd unit, or --memory and --pids-limit of its container (docs/operations.md), to have the kernel keep them too",
		}
	default:
		return sound("commands", text+"; with the gateway together "+memory+" bytes and "+tasks+" processes, kept by the kernel")
	}
}
