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

// The earliest and latest times that JSON can represent.
var (
	firstMoment = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// storable returns the nearest time that can be stored.
func storable(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Before(firstMoment):
		return firstMoment
	case t.After(lastMoment):
		return lastMoment
	}
	return t
}

// Micros converts a time to the stored form: microseconds since 1970, and 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return storable(t).UnixMicro()
}

// FromMicros converts a stored time back.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Label returns the two columns of a label. An invalid label is never stored: RESTRICTED stands for a lost one.
func Label(l flow.Label) (level, trust int) {
	if !l.Valid() {
		l = flow.Top()
	}
	if l.Trust() == flow.Trusted {
		trust = 1
	}
	return l.Level().Rank(), trust
}

// LabelFrom restores a label; invalid columns give the top.
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

// LabelledText is a labelled text as it is stored: the text, and its label as "LEVEL/trust". Rows of earlier versions
// have no label.
type LabelledText struct{ Text, Label string }

// TextLabel returns a text's label as it is stored.
func TextLabel(t flow.Text) string {
	if t == (flow.Text{}) {
		return ""
	}
	return t.Label().String()
}

// Labelled returns the text. Without a label, as earlier versions stored it, it gets the label of its row. A label
// that can't be read counts as lost.
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

// Flag converts a bool to the stored form.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Encode returns a value as JSON. It can fail only for an invalid label: a time that JSON can't represent is stored
// as the nearest possible one.
func Encode(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		text, err = json.Marshal(storableCopy(reflect.ValueOf(v)).Interface())
	}
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(text), nil
}

// storableCopy returns a copy of a value with storable times. It is used only for values that could not be encoded.
func storableCopy(v reflect.Value) reflect.Value {
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
				copied.Field(i).Set(storableCopy(v.Field(i)))
			}
		}
	case reflect.Slice:
		copied.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			copied.Index(i).Set(storableCopy(v.Index(i)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			copied.Set(reflect.New(v.Type().Elem()))
			copied.Elem().Set(storableCopy(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			copied.Set(storableCopy(v.Elem()))
		}
	default:
	}
	return copied
}

// Decode reads the text that Encode wrote; an empty text gives the zero value.
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

// Text returns a value as JSON.
func (e *Encoding) Text(v any) string {
	text, err := Encode(v)
	if e.Err == nil {
		e.Err = err
	}
	return text
}

// clean makes texts valid for both databases. PostgreSQL rejects NUL and invalid UTF-8, and a text from outside must
// not block its own commit forever.
func clean(args []any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			if fit := cleaned(text); fit != text {
				args[i] = fit
			}
		}
	}
}

// keyMax is the maximum length of an indexed text in bytes, a limit of PostgreSQL's indexes. It leaves room for two
// of them in one index.
const keyMax = 1200

// Indexed returns the form of a text that is indexed. If it is too long, its beginning and a hash replace it, in rows
// and in queries alike.
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

// Fence lets a statement change a row only while the partition still has the writer's epoch. A new owner waits for
// the commits that have passed the fence: SQLite has one writer anyway, and PostgreSQL takes a lock.
const Fence = ` AND (CAST(? AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM partitions p WHERE p.id = ? AND p.epoch = ? /*pg FOR SHARE*/))`
