package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/policy/flow"
)

// The first and the last moment that JSON can say.
var (
	firstMoment = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// storable is the nearest moment that can be stored.
func storable(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Before(firstMoment):
		return firstMoment
	case t.After(lastMoment):
		return lastMoment
	}
	return t
}

// Micros is a time as it is stored: microseconds since 1970, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return storable(t).UnixMicro()
}

// FromMicros is the time that Micros stored.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Label is a label's two columns. An invalid label is never stored: what has lost its label is RESTRICTED.
func Label(l flow.Label) (level, trust int) {
	if !l.Valid() {
		l = flow.Top()
	}
	if l.Trust() == flow.Trusted {
		trust = 1
	}
	return l.Level().Rank(), trust
}

// LabelFrom restores a label; columns that make none give the top.
func LabelFrom(level, trust int) flow.Label {
	l, err := flow.LevelFromRank(level)
	switch {
	case err != nil || trust < 0 || trust > 1:
		return flow.Top()
	case trust == 1:
		return flow.NewLabel(l, flow.Trusted)
	}
	return flow.NewLabel(l, flow.Untrusted)
}

// LabelledText is a labelled text as it is stored: the text, and its label as "LEVEL/trust". A row of an earlier version has no label.
type LabelledText struct{ Text, Label string }

// TextLabel is a text's label as it is stored.
func TextLabel(t flow.Text) string {
	if t == (flow.Text{}) {
		return ""
	}
	return t.Label().String()
}

// Labelled is the text; one of an earlier version is as secret as what it stands in. A label that can't be read was lost.
func (s LabelledText) Labelled(otherwise flow.Label) flow.Text {
	switch {
	case s.Label == "" && s.Text == "":
		return flow.Text{}
	case s.Label == "":
		return flow.NewText(s.Text, otherwise)
	}
	label, err := flow.Parse(s.Label)
	if err != nil {
		label = flow.Top()
	}
	return flow.NewText(s.Text, label)
}

// Flag is a bool as it is stored.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Encode is a value as JSON text. Values of this program's own types can always be encoded, but for a label that is
// invalid: a time that JSON can't say is stored as the nearest one.
func Encode(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		text, err = json.Marshal(mended(reflect.ValueOf(v)).Interface())
	}
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(text), nil
}

// mended is a copy of a value in which each time is storable. It is made only of what could not be encoded.
func mended(v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	if t, ok := v.Interface().(time.Time); ok {
		return reflect.ValueOf(storable(t))
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	switch v.Kind() { //nolint:exhaustive // nothing else holds a time
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				copied.Field(i).Set(mended(v.Field(i)))
			}
		}
	case reflect.Slice:
		copied.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			copied.Index(i).Set(mended(v.Index(i)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			copied.Set(reflect.New(v.Type().Elem()))
			copied.Elem().Set(mended(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			copied.Set(mended(v.Elem()))
		}
	default:
	}
	return copied
}

// Decode reads what encode wrote; an empty text is the zero value.
func Decode(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decode stored %T: %w", into, err)
	}
	return nil
}

// Decoding collects the first error of several decodes.
type Decoding struct{ Err error }

// Into decodes a text unless an earlier one failed.
func (d *Decoding) Into(text string, v any) {
	if d.Err == nil {
		d.Err = Decode(text, v)
	}
}

// Encoding collects the first error of several encodes.
type Encoding struct{ Err error }

// Text is a value as JSON text.
func (e *Encoding) Text(v any) string {
	text, err := Encode(v)
	if e.Err == nil {
		e.Err = err
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

// keyMax is the length of an indexed text in bytes, at most: PostgreSQL's indexes take no longer ones. Two of them in
// one index are still short enough.
const keyMax = 1200

// Indexed is a text that an index has. One that is too long is replaced by its beginning and a hash, in rows and in
// what looks for them alike.
func Indexed[T ~string](text T) string {
	fit := cleaned(string(text))
	if len(fit) <= keyMax {
		return fit
	}
	hash := sha256.Sum256([]byte(fit))
	return strings.ToValidUTF8(fit[:keyMax/2], "") + "#" + hex.EncodeToString(hash[:16])
}

// cleaned is clean for one text.
func cleaned(text string) string {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
