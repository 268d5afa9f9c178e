package config

import (
	"fmt"
	"time"

	"sluice/adapters"
)

// Secret is a text that prints as "<secret>".
type Secret = adapters.Secret

// Duration is a time span, written as Go does: 90s, 10m, 24h.
type Duration time.Duration

// Std is the span as package time has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes it without trailing zero parts: 24h, not 24h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, tail := range []string{"m0s", "h0m"} {
		if len(s) > len(tail) && s[len(s)-len(tail):] == tail {
			s = s[:len(s)-2]
		}
	}
	return s
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a span above zero.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v <= 0 {
		return fmt.Errorf("want a time span such as 90s, 10m or 24h")
	}
	*d = Duration(v)
	return nil
}
