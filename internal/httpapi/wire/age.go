package wire

import (
	"fmt"
	"regexp"
	"time"
)

// age is a duration of s, m and h, which may be combined: 1h30m.
var age = regexp.MustCompile(`^([0-9]{1,9}[smh])+$`)

// ParseAge reads a parameter that says how long ago something was.
func ParseAge(parameter, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || !age.MatchString(text) {
		return 0, BadRequest(fmt.Sprintf("%s: %q is not a duration such as 45s, 30m or 1h30m", parameter, text))
	}
	return d, nil
}
