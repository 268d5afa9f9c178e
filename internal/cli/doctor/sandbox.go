package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/config"
	"sluice/internal/hostos"
	"sluice/internal/sandbox"
	"sluice/sessions"
)

// sandboxed checks what runs in the sandbox.
func sandboxed(ctx context.Context, cfg *config.Config, now func() time.Time) []finding {
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	missing := sandbox.New("", now).Available(ctx)
	mend := ""
	if missing != nil {
		mend = mendSandbox(missing, "/")
	}
	return append(commands(cfg, missing, mend), documents(missing, mend))
}

const (
	installSandbox = "sudo apt-get install bubblewrap (or your distribution's package), then run sluice doctor again"
	allowInside    = "run the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or with a seccomp profile that permits user namespaces; then run sluice doctor again"
)

// The settings of a kernel that forbid user namespaces, which bubblewrap needs, in the order in which they are looked at.
var forbidding = []struct{ file, forbids, mend string }{
	{"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "echo kernel.apparmor_restrict_unprivileged_userns=0 | sudo tee /etc/sysctl.d/60-sluice.conf && sudo sysctl --system, or load an AppArmor profile that permits bwrap user namespaces; then run sluice doctor again"},
	{"proc/sys/kernel/unprivileged_userns_clone", "0", "echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-sluice.conf && sudo sysctl --system, then run sluice doctor again"},
	{"proc/sys/user/max_user_namespaces", "0", "echo user.max_user_namespaces=10000 | sudo tee /etc/sysctl.d/60-sluice.conf && sudo sysctl --system, then run sluice doctor again"},
}

// mendSandbox says how to mend a sandbox that does not work on the machine whose files are below root.
func mendSandbox(missing error, root string) string {
	if !hostos.Sandboxes() {
		return "run the gateway on Linux, for example in a container or virtual machine"
	}
	if errors.Is(missing, exec.ErrNotFound) {
		return installSandbox
	}
	for _, container := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := os.Stat(filepath.Join(root, container)); err == nil {
			return allowInside
		}
	}
	for _, setting := range forbidding {
		value, err := os.ReadFile(filepath.Join(root, setting.file))
		if err == nil && strings.TrimSpace(string(value)) == setting.forbids {
			return setting.mend
		}
	}
	return "update bubblewrap to 0.8 or later (bwrap --version), then run sluice doctor again"
}

// documents says whether documents that people send can be read.
func documents(missing error, mend string) finding {
	if missing != nil {
		return note("documents", fmt.Sprintf("PDF, Office and other documents that people send can't be read, only plain text: %s", missing), mend)
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		return note("documents", "PDF files that people send can't be read: pdftotext is not installed", "sudo apt-get install poppler-utils (or your distribution's package)")
	}
	return healthy("documents", "PDF, Office and other documents are read in the sandbox")
}

// commands checks whether the sandbox works, where agents use it, and which limits their commands have. missing says why it does not.
func commands(cfg *config.Config, missing error, mend string) []finding {
	var required, without, outside []string
	for _, a := range cfg.Agents.List {
		tools := roster.ToolFilter(a.Tools)
		switch mode := sessions.SandboxMode(a.Sandbox.Mode); {
		case mode == sessions.SandboxRequired:
			required = append(required, a.ID)
		case mode != sessions.SandboxOptional || !tools.Has(roster.ExecName, mode):
		case tools.OnHost():
			outside = append(outside, a.ID)
		default:
			without = append(without, a.ID)
		}
	}
	if len(required)+len(without)+len(outside) == 0 {
		return nil
	}
	if missing == nil {
		return []finding{healthy("sandbox", "bubblewrap works"), commandLimits(cfg.Limits)}
	}
	text := missing.Error()
	for _, affected := range []struct {
		what   string
		agents []string
	}{
		{"Agents that require it can't run commands", required},
		{"Agents that therefore have no commands", without},
		{"Agents whose commands run outside of it, with the rights of the gateway", outside},
	} {
		if len(affected.agents) > 0 {
			text += ". " + affected.what + ": " + strings.Join(affected.agents, ", ")
		}
	}
	if len(required) > 0 {
		return []finding{problem("sandbox", text, mend)}
	}
	return []finding{note("sandbox", text, mend)}
}

// commandLimits says what limits the commands of agents here.
func commandLimits(l config.Limits) finding {
	text := fmt.Sprintf("limited to %s of memory and %d processes each", l.CommandMemory, l.CommandProcesses)
	memory, tasks := sandbox.KernelBounds()
	if memory == "" || tasks == "" {
		return note("commands", text+"; the kernel does not limit the gateway and its commands together",
			"set MemoryMax= and TasksMax= in the gateway's systemd unit, or --memory and --pids-limit of its container (docs/operations.md)")
	}
	return healthy("commands", fmt.Sprintf("%s; the kernel limits the gateway and its commands together to %s bytes and %s processes", text, memory, tasks))
}
