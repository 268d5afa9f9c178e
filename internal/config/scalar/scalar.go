// Package scalar has the configuration values that are written as one text, such as time spans.
package scalar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Duration is a time span in Go's notation: 90s, 10m, 24h.
type Duration time.Duration

// Std converts it to a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns it without trailing zero units: 24h, not 24h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, tail := range []string{"m0s", "h0m"} {
		if len(s) > len(tail) && s[len(s)-len(tail):] == tail {
			s = s[:len(s)-2]
		}
	}
	return s
}

// MarshalText returns the text that UnmarshalText reads; none if the span is not given.
func (d Duration) MarshalText() ([]byte, error) {
	if d == 0 {
		return nil, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads a span above zero. An empty text leaves the default.
func (d *Duration) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	v, err := time.ParseDuration(string(b))
	if err != nil || v <= 0 {
		return fmt.Errorf("want a time span such as 90s, 10m or 24h")
	}
	*d = Duration(v)
	return nil
}

// Wait is a time span that may be 0s, which differs from one that is not given: the zero value.
type Wait time.Duration

// NoWait is 0s.
const NoWait Wait = -1

// Or is the time span, or another one if it is not given.
func (w Wait) Or(otherwise time.Duration) time.Duration {
	if w == 0 {
		return otherwise
	}
	return max(time.Duration(w), 0)
}

// String returns it as a [Duration] is written.
func (w Wait) String() string { return Duration(w.Or(0)).String() }

// MarshalText returns the text that UnmarshalText reads; none if the span is not given.
func (w Wait) MarshalText() ([]byte, error) {
	if w == 0 {
		return nil, nil
	}
	return []byte(w.String()), nil
}

// UnmarshalText reads a span of at least 0s. An empty text leaves the default.
func (w *Wait) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return fmt.Errorf("want a time span such as 0s, 90s or 10m")
	}
	*w = Wait(v)
	if v == 0 {
		*w = NoWait
	}
	return nil
}

// Bytes is an amount of data with a unit: 512MiB, 5GiB, 2GB.
type Bytes int64

// String uses the largest unit that gives a whole number.
func (b Bytes) String() string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	n, unit := int64(b), 0
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + units[unit]
}

// MarshalText returns the text that UnmarshalText reads.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads an amount of at least 1 MiB.
func (b *Bytes) UnmarshalText(text []byte) error {
	const least, most = 1 << 20, 1 << 50
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n < least || n > most {
		return errors.New("want an amount of data from 1MiB to 1PiB, such as 512MiB or 5GiB")
	}
	*b = Bytes(n)
	return nil
}

// Amount is an amount of money as a decimal number with at most six decimals, such as 2.50; empty if it is not given.
type Amount string

const amountDecimals, amountMax = 6, 1_000_000

// UnmarshalText reads an amount of at least 0.
func (a *Amount) UnmarshalText(text []byte) error {
	*a = Amount(text)
	whole, part, _ := strings.Cut(string(text), ".")
	if n, err := strconv.ParseUint(whole, 10, 32); err != nil || n > amountMax || len(part) > amountDecimals || strings.Trim(part, "0123456789") != "" {
		return fmt.Errorf("want an amount of money from 0 to %d with at most six decimals, such as 2.50", amountMax)
	}
	return nil
}

// Millionths is the amount in millionths: 2500000 for 2.50; the other one if it is not given.
func (a Amount) Millionths(otherwise int64) int64 {
	whole, part, _ := strings.Cut(string(a), ".")
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", max(amountDecimals-len(part), 0)), 10, 64)
	if err != nil || a == "" {
		return otherwise
	}
	return n
}

// Rate is an amount for each period, such as 60/1m; zero if it is not given.
type Rate struct {
	Amount int
	Per    time.Duration
}

// String is the rate as it is written; empty if it is not given.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	return strconv.Itoa(r.Amount) + "/" + Duration(r.Per).String()
}

// In is how many there may be in a period.
func (r Rate) In(period time.Duration) int {
	return r.Amount * int((period+r.Per-1)/r.Per)
}

// MarshalText returns the text that UnmarshalText reads.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rate; the period is from a second to a day. An empty text is no rate.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = Rate{}
		return nil
	}
	amount, period, ok := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(amount))
	per, fault := time.ParseDuration(strings.TrimSpace(period))
	if !ok || err != nil || fault != nil || n < 1 || n > rateMax || per < time.Second || per > 24*time.Hour {
		return fmt.Errorf("want an amount and a period of 1s to 24h, such as 60/1m")
	}
	*r = Rate{n, per}
	return nil
}

const rateMax = 1_000_000_000

// Day is a day of the calendar, such as 2026-12-01; empty if it is not given.
type Day string

// UnmarshalText reads a day.
func (d *Day) UnmarshalText(text []byte) error {
	if _, err := time.Parse(time.DateOnly, string(text)); err != nil {
		return errors.New("want a day, such as 2026-12-01")
	}
	*d = Day(text)
	return nil
}

// Start is when the day begins, in UTC; zero if it is not given.
func (d Day) Start() time.Time {
	at, _ := time.Parse(time.DateOnly, string(d)) // it was checked
	return at
}
