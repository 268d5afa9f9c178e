//go:build !race

package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/document"
)

// Hostile documents cost a bounded amount of time and memory, and their errors say what the matter is.
//
// They are read one after the other: a reader's time is limited, and each of them takes a processor.
func TestHostileDocuments(t *testing.T) {
	r := newReader(t)
	const container = `<container><rootfiles><rootfile full-path="o"/></rootfiles></container>`
	for name, c := range map[string]struct {
		content []byte
		err     error
		text    string
	}{
		"a bomb":                  {zipped(t, "word/document.xml", "<p>"+strings.Repeat(" ", 17<<20)), document.ErrDamaged, ""},
		"a bomb of text":          {zipped(t, "word/document.xml", "<p><t>"+strings.Repeat("a", 2<<20)), nil, strings.Repeat("a", 1000)},
		"a bomb in a workbook":    {zipped(t, "xl/workbook.xml", strings.Repeat(" ", 17<<20)), document.ErrDamaged, ""},
		"entities":                {zipped(t, "word/document.xml", `<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><p><t>&a;&b;</t></p>`), document.ErrDamaged, ""},
		"nested":                  {zipped(t, "content.xml", strings.Repeat("<p>", 1<<20), "mimetype", ""), nil, ""},
		"one chapter many times":  {zipped(t, "META-INF/container.xml", container, "o", `<package><spine>`+strings.Repeat(`<itemref idref="a"/>`, 10000)+`</spine></package>`, "a", strings.Repeat(" ", 10<<20)), document.ErrDamaged, ""},
		"a book without contents": {zipped(t, "META-INF/container.xml", container), document.ErrDamaged, ""},
		"a book that leads out":   {zipped(t, "META-INF/container.xml", strings.Replace(container, `"o"`, `"../../etc/passwd"`, 1)), document.ErrDamaged, ""},
		"no PDF":                  {[]byte("%PDF-1.7 nothing"), document.ErrDamaged, ""},
		"half a ZIP":              {zipped(t, "a", "b")[:20], document.ErrDamaged, ""},
		"one compressed file":     {[]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0}, document.ErrUnknown, ""},
		"names with lines":        {zipped(t, "a\nb\x01", "x"), nil, "a?b? (1 B)"},
		"something else":          {[]byte("\x00\x01"), document.ErrUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.Text(t.Context(), "", c.content)
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				require.True(t, strings.HasPrefix(got.Text, c.text), "%.100q", got.Text)
			}
			require.LessOrEqual(t, len(got.Text), 64<<10)
		})
	}
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprint("file", i), "x")
	}
	got, err := r.Text(t.Context(), "", zipped(t, many...))
	require.NoError(t, err)
	require.True(t, got.List)
	require.True(t, strings.HasSuffix(got.Text, "file499 (1 B)\nand 100 more"), got.Text[len(got.Text)-40:])
	got, err = r.Text(t.Context(), "text/html", []byte("<p>"+strings.Repeat("word ", 1<<18)))
	require.NoError(t, err)
	require.True(t, got.Cut)
}
