package voice

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/internal/markdown"
	"sluice/internal/model/meter"
	"sluice/internal/recording"
	"sluice/policy/flow"
	"sluice/router/outbound"
)

// speechMax is how much of a reply is spoken, in characters; servers refuse more. The whole reply is in the text.
const speechMax = 4000

// The most that a character of a text takes to be said. Capital letters may be spelled, and a digit of a large number is a word.
const (
	letterMax = time.Second / 2
	otherMax  = time.Second
)

// longest is the most that a text takes to be said.
func longest(text string) (d time.Duration) {
	for _, r := range text {
		if unicode.IsLower(r) || r == ' ' {
			d += letterMax
			continue
		}
		d += otherMax
	}
	return d
}

var _ outbound.Speaker = (*Voice)(nil)

// Speaks implements [outbound.Speaker].
func (v *Voice) Speaks() bool { return v.media().Speech.Provider != "" }

// Speak implements [outbound.Speaker].
func (v *Voice) Speak(ctx context.Context, text string, label flow.Label) (outbound.NewFile, error) {
	s := v.media().Speech
	models := v.Models.Load()
	server, key, level := models.Audio(s.Provider)
	switch {
	case s.Provider == "" || server == nil:
		return outbound.NewFile{}, errors.New("media.speech is not set")
	case !mayLearn(label, level):
		return outbound.NewFile{}, errors.New("it is too confidential for the speech server (classification of its provider)")
	}
	text = spoken(text)
	if r := v.rests.Load(); r != nil && r.of == models && v.Now().Before(r.until) && 2*len(text) > r.length {
		return outbound.NewFile{}, errors.New("the speech server failed after a long wait: it is not asked again for some minutes")
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var content []byte
	call := meter.Audio{Provider: s.Provider, Key: key, Model: s.Model, Level: label.Level(), Longest: longest(text)}
	err := v.Meter.Hear(bounded, call, func(asked context.Context) (lasts time.Duration, err error) {
		begin := v.Now()
		content, err = server.Speak(asked, s.Model, s.Voice, text)
		switch now := v.Now(); {
		case err == nil:
			v.rests.Store(nil)
		case ctx.Err() == nil && now.Sub(begin) >= slow:
			v.rests.Store(&resting{models, now.Add(rest), len(text)})
		}
		lasts, _ = recording.Length(content)
		return lasts, err
	})
	if err != nil {
		return outbound.NewFile{}, err
	}
	name, kind := named(content)
	return outbound.NewFile{Name: name, MIME: kind, Content: content}, nil
}

// named is the name and the kind of a recording, as it begins. Servers have their own formats, whatever they are asked for.
func named(content []byte) (name, kind string) {
	switch kind := http.DetectContentType(content); {
	case bytes.HasPrefix(content, []byte("OggS")):
		return "voice.ogg", "audio/ogg"
	case bytes.HasPrefix(content, []byte("fLaC")):
		return "voice.flac", "audio/flac"
	case kind == "audio/wave":
		return "voice.wav", kind
	case kind == "audio/mpeg", len(content) > 1 && content[0] == 0xff && content[1]&0xe0 == 0xe0: // without tags, a file begins with a frame
		return "voice.mp3", "audio/mpeg"
	}
	return "voice", "application/octet-stream"
}

// spoken is what a voice says of a reply: its text without markup, up to the last sentence that fits.
func spoken(text string) string {
	text = strings.TrimSpace(markdown.Plain(text))
	if utf8.RuneCountInString(text) <= speechMax {
		return text
	}
	kept := string([]rune(text)[:speechMax])
	if end := strings.LastIndexAny(kept, ".!?\n"); end > len(kept)/2 {
		kept = kept[:end+1]
	}
	return strings.TrimSpace(kept)
}
