package app

import (
	"context"
	"sync/atomic"

	"sluice/internal/config/agents"
	"sluice/internal/model"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/attach"
)

// transcriber transcribes recordings, as the current configuration says.
type transcriber struct {
	settings atomic.Pointer[agents.Transcription]
	models   *atomic.Pointer[model.Registry]
}

func (t *transcriber) transcribe(ctx context.Context, r attach.Recording) (string, error) {
	settings := t.settings.Load()
	if settings == nil || settings.Provider == "" {
		return "", attach.ErrNoTranscription
	}
	server, level := t.models.Load().Audio(settings.Provider)
	if server == nil {
		return "", attach.ErrNoTranscription
	}
	if !policy.CheckModel.Skipped() && !flow.CanFlow(r.Label.Level(), level) {
		return "", attach.ErrTooSecretToHear
	}
	return server.Transcribe(ctx, settings.Model, r.Name, r.MIME, r.Content)
}
