package outbound

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// able is an adapter that cuts texts at "|", shows one button and takes files.
type able struct{ bare }

func (able) Split(text string) []string { return strings.Split(text, "|") }
func (able) MaxButtons() int            { return 1 }
func (able) SendFile(context.Context, adapters.Outbound, adapters.File) (adapters.Receipt, error) {
	return adapters.Receipt{}, nil
}

func (s *rows) MediaInfo(_ context.Context, id sessions.MediaID) (ledger.Media, error) {
	if id == "gone" {
		return ledger.Media{}, sessions.ErrNotFound
	}
	return ledger.Media{ID: id, Name: "plan.pdf"}, nil
}

// The platform messages of a delivery. What the channel can't show otherwise is said in the text.
func TestParts(t *testing.T) {
	t.Parallel()
	choice := []adapters.Button{{Label: "Yes", Value: "y"}, {Label: "No", Value: "n"}}
	for name, c := range map[string]struct {
		adapter adapters.Adapter
		d       ledger.Delivery
		texts   []string
		buttons int // below the last text
		files   int
		chunks  []string // that are stored
	}{
		"a text":                        {bare{}, ledger.Delivery{Text: "a|b"}, []string{"a|b"}, 0, 0, nil},
		"nothing":                       {able{}, ledger.Delivery{}, nil, 0, 0, nil},
		"a long text":                   {able{}, ledger.Delivery{Text: "a|b"}, []string{"a", "b"}, 0, 0, []string{"a", "b"}},
		"a text that was cut before":    {able{}, ledger.Delivery{Text: "a|b", Parts: []string{"a|", "b"}}, []string{"a|", "b"}, 0, 0, []string{"a|", "b"}},
		"buttons that are not shown":    {bare{}, ledger.Delivery{Text: "go?", Buttons: choice}, []string{"go?\n\n`y` – Yes\n`n` – No"}, 0, 0, []string{"go?\n\n`y` – Yes\n`n` – No"}},
		"more buttons than are shown":   {able{}, ledger.Delivery{Text: "a|go?", Buttons: choice}, []string{"a", "go?\n\n`n` – No"}, 1, 0, []string{"a", "go?\n\n`n` – No"}},
		"files":                         {able{}, ledger.Delivery{Text: "a", Files: []sessions.MediaID{"m", "n"}}, []string{"a"}, 0, 2, nil},
		"a file without a text":         {able{}, ledger.Delivery{Files: []sessions.MediaID{"m"}}, nil, 0, 1, nil},
		"a file that can't be shown":    {bare{}, ledger.Delivery{Text: "a", Files: []sessions.MediaID{"m"}}, []string{"a\n\nFile \"plan.pdf\" is not shown: this channel does not support files."}, 0, 0, []string{"a\n\nFile \"plan.pdf\" is not shown: this channel does not support files."}},
		"the same, and it is kept away": {bare{}, ledger.Delivery{Files: []sessions.MediaID{"m"}}, []string{"File \"plan.pdf\" is not shown: this channel does not support files."}, 0, 0, []string{"File \"plan.pdf\" is not shown: this channel does not support files."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &worker{out: &Outbox{Store: &rows{}}}
			parts, err := partsOf(t.Context(), w.out.Store, &c.d, c.adapter)
			require.NoError(t, err)
			var texts []string
			files := 0
			for i, p := range parts {
				require.Equal(t, i, p.index)
				if p.file != "" {
					files++
					continue
				}
				texts = append(texts, p.text)
				want := 0
				if i == len(parts)-1-len(c.d.Files) || i == len(parts)-1 {
					want = c.buttons
				}
				require.Len(t, p.buttons, want, "buttons are below the last text")
			}
			require.Equal(t, c.texts, texts)
			require.Equal(t, c.files, files)
			require.Equal(t, c.chunks, c.d.Parts, "a text is not stored twice")
		})
	}
}
