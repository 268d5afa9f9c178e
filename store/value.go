package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/policy/flow"
)

// micros is a time as it is stored: microseconds since 1970, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// label is a label's two columns. An invalid label is never stored: what has lost its label is as secret as can be.
func label(l flow.Label) (level, trust int) {
	if !l.Valid() {
		l = flow.Top()
	}
	if l.Trust() == flow.Trusted {
		trust = 1
	}
	return l.Level().Rank(), trust
}

// labelFrom restores a label; columns that make none give the top.
func labelFrom(level, trust int) flow.Label {
	l, err := flow.LevelFromRank(level)
	switch {
	case err != nil || trust < 0 || trust > 1:
		return flow.Top()
	case trust == 1:
		return flow.NewLabel(l, flow.Trusted)
	}
	return flow.NewLabel(l, flow.Untrusted)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// encode is a value as JSON text. Values of this program's own types can always be encoded, but for a label that is invalid.
func encode(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(text), nil
}

// decode reads what encode wrote; an empty text is the zero value.
func decode(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decode stored %T: %w", into, err)
	}
	return nil
}

// decoding collects the first error of several decodes.
type decoding struct{ err error }

func (d *decoding) into(text string, v any) {
	if d.err == nil {
		d.err = decode(text, v)
	}
}

// encoding collects the first error of several encodes.
type encoding struct{ err error }

func (e *encoding) text(v any) string {
	text, err := encode(v)
	if e.err == nil {
		e.err = err
	}
	return text
}

// clean makes texts fit for both databases: PostgreSQL takes neither a NUL nor
// broken UTF-8, and a foreign text must not make its own commit impossible for ever.
func clean(args []any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			if fit := cleaned(text); fit != text {
				args[i] = fit
			}
		}
	}
}

// cleaned is clean for one text.
func cleaned(text string) string {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
