package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// JSONFormat writes a list one element at a time, so that memory never holds a whole page as text.
func JSONFormat() huma.Format {
	format := huma.DefaultJSONFormat
	format.Marshal = func(w io.Writer, v any) error {
		list := reflect.ValueOf(v)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() == reflect.Uint8 || list.Len() == 0 {
			return encodeValue(w, "", v, "\n")
		}
		before := "["
		for i := range list.Len() {
			if err := encodeValue(w, before, list.Index(i).Interface(), ""); err != nil {
				return err
			}
			before = ","
		}
		_, _ = io.WriteString(w, "]\n") // the caller has gone
		return nil
	}
	return format
}

// encodeValue writes one value between two texts. It fails only if the value cannot be encoded: a failed write means
// that the caller has gone.
func encodeValue(w io.Writer, before string, v any, after string) error {
	var b bytes.Buffer
	b.WriteString(before)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	b.Truncate(b.Len() - 1) // the encoder's line break
	b.WriteString(after)
	_, _ = w.Write(b.Bytes()) // the caller has gone
	return nil
}
