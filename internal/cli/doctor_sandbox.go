package cli

import (
	"context"
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
	case len(required) > 0:
		d.add(wrong("sandbox", err.Error()+"; so "+strings.Join(required, ", ")+" can run no commands", installSandbox))
	default:
		d.add(finding{part: "sandbox", text: err.Error() + "; " + strings.Join(optional, ", ") + " would use it", mend: installSandbox, note: true})
	}
}
