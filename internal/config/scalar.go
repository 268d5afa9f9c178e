package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// hidden is what stands for a secret wherever one would be printed.
const hidden = "<secret>"

// Secret is a text that prints as "<secret>" by every verb, logger and
// encoder. Its text is had by [Secret.Reveal] or a conversion.
type Secret string

// Reveal is the secret's text.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret; an empty one is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format hides the secret from every verb, the unsuitable ones too.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the secret.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

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
