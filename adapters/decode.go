package adapters

import (
	"encoding/json"
	"errors"
	"reflect"
)

// Decode reads JSON from a platform into v as far as it can be read. A value of a type that v does not expect leaves
// its field empty and the rest is read; unread then names the first such field. An error means that nothing could be
// read: the text is not JSON, or its outermost value is of another kind than v.
//
// Types that are decoded so have no UnmarshalJSON that can fail: its error would end the reading.
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
