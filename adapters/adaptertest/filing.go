package adaptertest

import (
	"bytes"
	"context"
	"io"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var filing = []subtest{
	{"a file goes out with all its bytes", sendFile},
	{"a file that is too large is refused as that", largeFile},
	{"a file that came in can be read", fetchFile},
}

// content returns the content of a file: longer than a buffer, with every byte value.
func content() []byte {
	c := make([]byte, 100_000)
	for i := range c {
		c[i] = byte(i * 7 / 3)
	}
	return c
}

func sendFile(w *world) {
	sender := able[adapters.FileSender](w)
	data := content()
	receipt, err := sender.SendFile(w.t.Context(), out("dlv_1", w.Direct(), "the numbers"), adapters.File{
		Name: "numbers.bin", MIME: "application/octet-stream", Size: int64(len(data)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	})
	require.NoError(w.t, err)
	shown := w.shown(w.Direct(), 1)[0]
	require.Equal(w.t, shown.ID, receipt.MessageID)
	require.Equal(w.t, "numbers.bin", shown.File)
	require.Equal(w.t, "the numbers", shown.Plain)
	require.True(w.t, bytes.Equal(data, shown.Content), "the file's bytes")
}

func largeFile(w *world) {
	sender := able[adapters.FileSender](w)
	size := int64(w.limits.File) + 1
	_, err := sender.SendFile(w.t.Context(), out("dlv_1", w.Direct(), ""), adapters.File{
		Name: "zeros.bin", MIME: "application/octet-stream", Size: size,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, size)), nil },
	})
	require.Equal(w.t, adapters.TooLarge, adapters.AsFailure(err).Kind)
	require.True(w.t, adapters.AsFailure(err).Certain)
	require.Empty(w.t, w.Shown(w.Direct()))
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func fetchFile(w *world) {
	w.needs(w.limits.Uploads, "files of people")
	fetcher := able[adapters.FileFetcher](w)
	w.warm()
	data := content()
	said := w.Upload(w.Direct(), w.Person(0), "plan.pdf", "application/pdf", data)
	in := w.only(w.Direct(), w.Person(0))
	requireFrom(w, in, said, w.Person(0))
	require.Len(w.t, in.Attachments, 1)
	at := in.Attachments[0]
	require.Equal(w.t, "plan.pdf", at.Name)
	require.Equal(w.t, "application/pdf", at.MIME)
	require.EqualValues(w.t, len(data), at.Size)
	body, err := fetcher.Fetch(w.t.Context(), at)
	require.NoError(w.t, err)
	got, err := io.ReadAll(body)
	require.NoError(w.t, err)
	require.NoError(w.t, body.Close())
	require.True(w.t, bytes.Equal(data, got), "the file's bytes")
	at.Ref = "nothing-like-that"
	_, err = fetcher.Fetch(w.t.Context(), at)
	require.Error(w.t, err)
}
