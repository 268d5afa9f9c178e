package api

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/terminal"
)

// JobFlags are the keys of a job.
type JobFlags struct {
	schedule, every, at, timezone, text, prompt string
	in                                          time.Duration
	inGiven                                     func() bool
	to, fallback, set                           []string
}

// Add adds the flags to a command.
func (f *JobFlags) Add(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&f.schedule, "schedule", "", "when: a cron `expression`, see sluice cron next")
	flags.StringVar(&f.every, "every", "", "when: the `time` between two instants, for example 90m")
	flags.StringVar(&f.at, "at", "", "when: a single `time`, for example 2026-12-24T18:00")
	flags.DurationVar(&f.in, "in", 0, "when: once, this `time` from now, for example 20m")
	f.inGiven = func() bool { return flags.Changed("in") }
	flags.StringVar(&f.timezone, "timezone", "", "the `zone` of the times (default: cron.timezone)")
	flags.StringVar(&f.text, "text", "", "the `text` to send")
	flags.StringVar(&f.prompt, "prompt", "", "the `text` that an agent is asked; its reply is sent")
	flags.StringArrayVar(&f.to, "to", nil, "a `target`: owner, a name from targets, or CHANNEL:ID; repeat it for more")
	flags.StringArrayVar(&f.fallback, "fallback", nil, "a `target` for those without a receipt; repeat it for more")
	flags.StringArrayVar(&f.set, "set", nil, "another `key=value` of a job in sluice.yaml; the value may be JSON, and null removes the key")
	return cmd
}

// Object is the job that the flags describe.
func (f *JobFlags) Object(now time.Time) (map[string]any, error) {
	job := map[string]any{}
	if f.inGiven() {
		switch {
		case f.in <= 0:
			return nil, terminal.Usagef("--in %s: want a time from now, for example 20m", f.in)
		case f.at != "" || f.every != "" || f.schedule != "":
			return nil, terminal.Usagef("--in, --at, --every and --schedule: give only one of them")
		}
		f.at = now.Add(f.in).Format(time.RFC3339)
	}
	for key, value := range map[string]string{"schedule": f.schedule, "every": f.every, "at": f.at, "timezone": f.timezone, "text": f.text, "prompt": f.prompt} {
		if value != "" {
			job[key] = value
		}
	}
	deliver := map[string]any{}
	if len(f.to) > 0 {
		deliver["to"] = f.to
	}
	if len(f.fallback) > 0 {
		deliver["fallback"] = f.fallback
	}
	if len(deliver) > 0 {
		job["deliver"] = deliver
	}
	for _, pair := range f.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, terminal.Usagef("--set %s: write key=value", pair)
		}
		job[key] = value
		if json.Valid([]byte(value)) {
			job[key] = json.RawMessage(value)
		}
	}
	return job, nil
}

// SentTo describes the state of a message to a target, with the error.
func SentTo(target, state, delivery, why string) string {
	text := strings.TrimSpace(target + " " + state)
	if why != "" {
		text += " (" + why + ")"
	}
	return strings.TrimSpace(text + " " + delivery)
}
