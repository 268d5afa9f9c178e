package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

func isRecording(at sessions.Attachment) bool {
	return at.Kind == "voice" || at.Kind == "audio" || strings.HasPrefix(at.MIME, "audio/")
}

// Recording is something that a person has said.
type Recording struct {
	Name, MIME string
	Content    []byte
	Label      flow.Label
	Route      sessions.Route // where it was sent
}

// The errors of a transcriber that an agent is told about.
var (
	ErrNoTranscription = errors.New("recordings are not transcribed")
	ErrTooSecretToHear = errors.New("the recording is above the level of the server that transcribes")
	ErrOverBudget      = errors.New("no budget covers the transcription")
	ErrNoPriceToHear   = errors.New("a budget can't count the transcription, because its price is not known")
)

// hear writes down what is said in a recording, for the model to read.
func (f *Fetcher) hear(ctx context.Context, at *sessions.Attachment, content []byte, run sessions.Run, got *Fetched) {
	text, err := "", ErrNoTranscription
	if f.Transcribe != nil {
		text, err = f.Transcribe(ctx, Recording{Name: path.Base(cmp.Or(at.Name, "recording"+extension(at.MIME))), MIME: at.MIME, Content: content, Label: run.Label, Route: run.Route})
	}
	switch {
	case errors.Is(err, ErrNoTranscription): // whose sender is told, too
		at.Note = "you can't hear it: the owner of this gateway can set media.transcription"
	case errors.Is(err, ErrTooSecretToHear):
		at.Note = "you can't hear it: it is too confidential for the server that transcribes (classification of its provider)"
	case err != nil:
		at.Note = notTranscribed(err)
		f.Log.Warn("recording not transcribed", "run", string(run.ID), "channel", run.Route.Channel, "err", err)
	case text == "":
		at.Note = "nothing is said in it"
	default:
		at.Note = "its transcript is in the message"
		what := "voice message"
		if at.Name != "" {
			what = "recording " + shownFile(at.Name)
		}
		got.Texts = append(got.Texts, fmt.Sprintf("[Transcript of the %s; a machine wrote it and may be wrong]\n%s", what, clip(text)))
	}
}

// notTranscribed tells the agent why a recording was not transcribed. What went wrong at the server is for the operator alone.
func notTranscribed(err error) string {
	switch {
	case errors.Is(err, ErrOverBudget):
		return "you can't hear it: the budget does not cover its transcription"
	case errors.Is(err, ErrNoPriceToHear):
		return "you can't hear it: there is a budget, and the price of transcriptions is not known; the owner of this gateway can set it in models.prices"
	}
	return "it could not be transcribed"
}

// extension is the ending of a recording's name, by which servers tell its format.
func extension(kind string) string {
	switch kind {
	case "audio/ogg", "audio/opus":
		return ".ogg"
	case "audio/mpeg":
		return ".mp3"
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return ".m4a"
	case "audio/webm":
		return ".webm"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	}
	return ".ogg"
}

// clip is as much of a transcript as a model reads.
func clip(text string) string {
	if len(text) <= textMax {
		return text
	}
	return strings.ToValidUTF8(text[:textMax], "") + restLeftOut
}
