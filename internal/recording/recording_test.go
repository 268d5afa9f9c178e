package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/recording"
)

func load(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return content
}

// The files have two and a half seconds of a tone. Encoders add a part of a frame or two.
func TestTheLengthOfKnownFormats(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"voice.ogg", "voice.mp3", "voice.mp2", "voice.m4a", "voice.wav", "voice.flac"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := load(t, name)
			length, known := recording.Length(content)
			require.True(t, known)
			require.GreaterOrEqual(t, length, 2500*time.Millisecond)
			require.Less(t, length, 2750*time.Millisecond)
			require.Equal(t, length, recording.Longest(content))
		})
	}
}

// A file that claims to be short is counted by what is in it.
func TestALieAboutTheLengthChangesNothing(t *testing.T) {
	t.Parallel()
	t.Run("the granule of Ogg's pages", func(t *testing.T) {
		t.Parallel()
		content := load(t, "voice.ogg")
		for at := 0; ; {
			next := bytes.Index(content[at:], []byte("OggS"))
			if next < 0 {
				break
			}
			at += next + 6
			copy(content[at:], make([]byte, 8))
		}
		require.Greater(t, recording.Longest(content), 2500*time.Millisecond)
	})
	t.Run("the time of each part of MP4", func(t *testing.T) {
		t.Parallel()
		content := load(t, "voice.m4a")
		at := bytes.Index(content, []byte("stts"))
		require.Positive(t, at)
		copy(content[at+16:], []byte{0, 0, 0, 1})
		require.Greater(t, recording.Longest(content), 2500*time.Millisecond)
	})
	t.Run("several recordings in one file", func(t *testing.T) {
		t.Parallel()
		content := load(t, "voice.mp3")
		require.Greater(t, recording.Longest(append(bytes.Clone(content), content...)), 5*time.Second)
	})
}

// Unknown formats count with the longest time that their bytes can last.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"empty": {}, "WebM": load(t, "voice.webm"), "text": []byte("no sound at all"), "a page": []byte("OggS one"), "half a head": []byte("RIFF\x00\x00\x00\x00WAVEfmt "),
		"FLAC without samples": append([]byte("fLaC"), make([]byte, 40)...), "a container": append([]byte("\x00\x00\x00\x10ftypM4A "), make([]byte, 40)...),
	} {
		_, known := recording.Length(content)
		require.False(t, known, name)
		require.Equal(t, time.Duration(len(content))*2*time.Millisecond, recording.Longest(content), name)
	}
	require.Greater(t, recording.Longest(load(t, "voice.webm")), 2500*time.Millisecond)
}

// Pages that lie over each other are not counted again and again.
func TestOverlappingPages(t *testing.T) { //nolint:paralleltest // it counts allocations
	const pages = 1 << 18
	first := append([]byte("OggS"), make([]byte, 23)...)
	copy(first[14:], "gSOg") // the stream of all the others
	first[26] = 1
	content := append(append(first, 8), "OpusHead"...)
	content = append(content, bytes.Repeat([]byte("OggS"), pages)...)
	var known bool
	require.LessOrEqual(t, testing.AllocsPerRun(1, func() { _, known = recording.Length(content) }), float64(2*len(content)))
	require.False(t, known)
}

// Any input has a length.
func FuzzLength(f *testing.F) {
	for _, name := range []string{"voice.ogg", "voice.mp3", "voice.m4a", "voice.wav", "voice.flac", "voice.webm"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(content[:min(len(content), 1<<10)])
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		length, _ := recording.Length(content)
		require.GreaterOrEqual(t, length, time.Duration(0))
		require.GreaterOrEqual(t, recording.Longest(content), time.Duration(0))
	})
}
