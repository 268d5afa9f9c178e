// Package given remembers the values of the references in a configuration file, so that no error shows them.
package given

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// bytesMax bounds what all references of a file give together: a short text may name a long file many times.
	bytesMax = 8 << 20
	// shownMin is the length of a value, in bytes, below which it stays in an error: replacing it would garble the text.
	shownMin = 6
)

// Values are what the references gave. Nil keeps and bounds nothing.
type Values struct {
	bytes  int
	values map[string]string // to their references
}

// New returns values to which references will add.
func New() *Values { return &Values{values: map[string]string{}} }

// Add keeps what a reference gave. The error is a sentence for the author of the configuration.
func (v *Values) Add(value, ref string) error {
	if v == nil {
		return nil
	}
	if v.bytes += len(value); v.bytes > bytesMax {
		return fmt.Errorf("the references of the file give more than %d bytes together: use fewer", bytesMax)
	}
	v.values[value] = ref
	return nil
}

// Hide puts the references back in the place of their values in a text, which may have them in quotes: a value may be a
// secret.
func (v *Values) Hide(text string) string {
	longest := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	for _, value := range slices.SortedFunc(maps.Keys(v.values), longest) {
		if len(value) < shownMin {
			break
		}
		quoted := strconv.Quote(value)
		text = strings.ReplaceAll(strings.ReplaceAll(text, value, v.values[value]), quoted[1:len(quoted)-1], v.values[value])
	}
	return text
}
