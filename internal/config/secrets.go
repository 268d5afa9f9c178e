package config

import "reflect"

// Secrets returns all secrets that are set in the configuration, in any order.
func (c *Config) Secrets() []Secret {
	var found []Secret
	collect(reflect.ValueOf(c).Elem(), &found)
	return found
}

func collect(v reflect.Value, found *[]Secret) {
	if s, ok := reflect.TypeAssert[Secret](v); ok {
		if s != "" {
			*found = append(*found, s)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collect(v.Field(i), found)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collect(v.MapIndex(key), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), found)
		}
	}
}
