package picture_test

import (
	"bytes"
	"errors"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/picture"
)

// made has pictures that ImageMagick makes, by file name, and one frame of a film that ffmpeg makes.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("CI") == "" {
			t.Skip(name + " is not installed: tools/testdeps installs it")
		}
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s: %s", name, args, out)
	}
	magick := func(args ...string) { run("convert-im6.q16", args...) }
	magick("-size", "700x500", "gradient:red-blue", "photo.miff")
	photo := []string{"photo.miff"}
	for name, args := range map[string][]string{
		"plain.png": nil, "palette.png": {"-colors", "16", "-type", "Palette"}, "deep.png": {"-depth", "16"}, "interlaced.png": {"-interlace", "PNG"},
		"alpha.png": {"-alpha", "set", "-channel", "A", "-evaluate", "set", "40%"}, "gray.png": {"-colorspace", "Gray"}, "bilevel.png": {"-monochrome"},
		"plain.jpg": nil, "progressive.jpg": {"-interlace", "JPEG"}, "gray.jpg": {"-colorspace", "Gray"}, "cmyk.jpg": {"-colorspace", "CMYK"}, "fine.jpg": {"-sampling-factor", "4:4:4", "-quality", "100"},
		"plain.gif": nil, "plain.webp": nil, "lossless.webp": {"-define", "webp:lossless=true"},
	} {
		magick(append(append(append([]string{}, photo...), args...), name)...)
	}
	magick("-size", "400x400", "xc:red", "xc:blue", "xc:green", "-loop", "0", "animated.gif")
	magick("-size", "3000x3", "gradient:", "strip.png")
	run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=1", "-frames:v", "1", "film.jpg")
	for _, kind := range []string{"png", "jpg"} {
		run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=size=6000x5000", "-frames:v", "1", "bomb."+kind)
	}
	all := map[string][]byte{}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.Name() == "photo.miff" {
			continue
		}
		if all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			require.NoError(t, err)
		}
	}
	return all
}

// Pictures of every kind, made by the distribution's programs, are scaled as asked. A broken or too large picture is an error, and takes
// little memory.
func TestRealPictures(t *testing.T) {
	var s picture.Scaler
	for name, content := range made(t) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, scaled, err := s.Fit(content, picture.Limits{Side: 300})
			runtime.ReadMemStats(&after)
			if len(name) > 4 && name[:4] == "bomb" {
				require.ErrorIs(t, err, picture.ErrTooLarge)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "nothing is decoded")
				return
			}
			require.NoError(t, err)
			require.True(t, scaled)
			head, kind, err := image.DecodeConfig(bytes.NewReader(got))
			require.NoError(t, err)
			require.Equal(t, "jpeg", kind)
			require.Equal(t, 300, max(head.Width, head.Height))
			for i := 1; i < 12; i++ { // cut off, and with a byte changed
				broken := bytes.Clone(content)
				if at := len(broken) * i / 12; i%2 == 0 {
					broken = broken[:at]
				} else {
					broken[at] ^= 0x55
				}
				got, _, err := s.Fit(broken, picture.Limits{Side: 300})
				if err == nil {
					_, _, err = image.DecodeConfig(bytes.NewReader(got))
					require.NoError(t, err)
				} else if !errors.Is(err, picture.ErrTooLarge) {
					require.ErrorContains(t, err, "read picture: ")
				}
			}
		})
	}
}
