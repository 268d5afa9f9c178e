package voice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/config/agents"
	"sluice/internal/model/meter"
	"sluice/internal/model/openai"
	"sluice/internal/recording"
	"sluice/internal/sandbox"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/attach"
	"sluice/router/outbound"
	"sluice/sessions"
)

// transcriptMax is how much of a command's output is read, in bytes.
const transcriptMax = 1 << 20

// endingMax is the length of the ending of a recording's name, with its dot.
const endingMax = 8

// filePlaceholder stands for the path of the recording in a command.
const filePlaceholder = "{file}"

// Transcribe returns what is said in a recording. Where nothing is configured for this, its conversation is told once.
func (v *Voice) Transcribe(ctx context.Context, r attach.Recording) (string, error) {
	t := v.media().Transcription
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if len(t.Command) > 0 {
		return v.run(ctx, t, r)
	}
	server, key, level := v.Models.Load().Audio(t.Provider)
	if t.Provider == "" || server == nil {
		return "", errors.Join(attach.ErrNoTranscription, v.tell(ctx, r.Route))
	}
	if !mayLearn(r.Label, level) {
		return "", attach.ErrTooSecretToHear
	}
	var got openai.Transcript
	lasts, known := recording.Length(r.Content)
	call := meter.Audio{Provider: t.Provider, Key: key, Model: t.Model, Level: r.Label.Level(), Longest: recording.Longest(r.Content)}
	err := v.Meter.Hear(ctx, call, func(ctx context.Context) (_ time.Duration, err error) {
		if got, err = server.Transcribe(ctx, t.Model, r.Name, r.MIME, r.Content); got.Lasts > 0 || !known {
			return got.Lasts, err
		}
		return lasts, err
	})
	if reached, ok := errors.AsType[*spending.Reached](err); ok && reached.Unpriced {
		return "", errors.Join(attach.ErrNoPriceToHear, err)
	} else if ok {
		return "", errors.Join(attach.ErrOverBudget, err)
	}
	return got.Text, err
}

// tell tells a conversation what is missing. The key of the message makes sure that it is told once.
func (v *Voice) tell(ctx context.Context, to sessions.Route) error {
	if to.IsZero() || v.Send == nil {
		return nil
	}
	_, err := v.Send(ctx, outbound.Proactive{
		Channel: to.Channel, Account: to.Account, To: string(to.Conversation), ChatType: to.ChatType, Thread: string(to.Thread), Label: flow.Bottom(),
		Text: "I can't listen to voice messages yet: the owner of this gateway can set `media.transcription`. Please write to me.", Actor: "gateway",
		Idempotency: "voice/untold/" + string(to.Lane()),
	})
	return err
}

// ending is the ending of a recording's name, by which programs tell its format. Its sender has chosen the name, and a command
// may be a line for a shell, so it has letters and digits alone.
func ending(name string) string {
	end := filepath.Ext(name)
	if len(end) > endingMax || strings.Trim(strings.ToLower(end), ".abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return end
}

// run has a command transcribe a recording, in a folder of its own.
func (v *Voice) run(ctx context.Context, t agents.Transcription, r attach.Recording) (text string, err error) {
	if err := v.Sandbox.Available(ctx); err != nil {
		return "", fmt.Errorf("transcribe: commands need a sandbox: %w", err)
	}
	folder, err := os.MkdirTemp("", "sluice-recording-")
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	name := "recording" + ending(r.Name)
	if err := os.WriteFile(filepath.Join(folder, name), r.Content, 0o600); err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	command := make([]string, len(t.Command))
	for i, word := range t.Command {
		command[i] = strings.ReplaceAll(word, filePlaceholder, "/workspace/"+name)
	}
	result, err := v.Sandbox.Run(ctx, sandbox.Config{
		Workspace: folder, ReadOnly: sandbox.Readable(t.Command), Stdin: string(r.Content), Timeout: timeout, Output: transcriptMax, Limits: v.Limits(),
	}, command...)
	switch {
	case err != nil:
		return "", fmt.Errorf("transcribe: %w", err)
	case result.TimedOut:
		return "", fmt.Errorf("transcribe: the command took longer than %s", timeout)
	case result.Stopped != "":
		return "", fmt.Errorf("transcribe: the command was ended: %s", result.Stopped)
	case result.ExitCode != 0:
		return "", fmt.Errorf("transcribe: the command ended with %d: %s", result.ExitCode, strings.TrimSpace(result.Stderr))
	}
	return strings.TrimSpace(strings.ToValidUTF8(result.Stdout, "")), nil
}
