package adapters

import (
	"encoding/json"
	"errors"
	"reflect"
)

// Decode reads a platform's JSON into v as far as possible. A field with an unexpected type stays empty, and the rest
// is read; unread then names the first such field. An error means that nothing could be read: the text is not JSON,
// or its outermost value does not fit v.
//
// Types that are decoded this way must not have an UnmarshalJSON that can fail: its error would stop the reading.
func Decode(raw []byte, v any) (unread string, err error) {
	err = json.Unmarshal(raw, v)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return "", err
	case wrong.Field != "":
		return wrong.Field, nil
	case wrong.Type == reflect.TypeOf(v).Elem():
		return "", err
	}
	return "an element of a list", nil
}
