package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/picture"
)

// corner is a picture that is green in its upper left quarter, red elsewhere.
func corner(w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{200, 0, 0, 255}
			if x < w/2 && y < h/2 {
				c = color.RGBA{0, 200, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func encoded(t *testing.T, kind string, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	switch kind {
	case "png":
		require.NoError(t, png.Encode(&out, img))
	case "gif":
		require.NoError(t, gif.Encode(&out, img, nil))
	default:
		require.NoError(t, jpeg.Encode(&out, img, nil))
	}
	return out.Bytes()
}

// held is a JPEG of a camera that was held so.
func held(t *testing.T, order binary.ByteOrder, turn uint16, content []byte) []byte {
	t.Helper()
	tiff := []byte("MM\x00\x2a")
	if order == binary.LittleEndian {
		tiff = []byte("II\x2a\x00")
	}
	u16 := func(n uint16) { tiff = append(tiff, 0, 0); order.PutUint16(tiff[len(tiff)-2:], n) }
	u32 := func(n uint32) { tiff = append(tiff, 0, 0, 0, 0); order.PutUint32(tiff[len(tiff)-4:], n) }
	u32(8)
	u16(2)
	for _, tag := range [][2]uint16{{0x0100, 7}, {0x0112, turn}} {
		u16(tag[0])
		u16(3)
		u32(1)
		u16(tag[1])
		u16(0)
	}
	part := append([]byte("Exif\x00\x00"), tiff...)
	head := []byte{0xff, 0xd8, 0xff, 0xe1, 0, 0}
	binary.BigEndian.PutUint16(head[4:], uint16(len(part)+2))
	return append(append(head, part...), content[2:]...)
}

func TestASmallPictureStaysAsItIs(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	for _, kind := range []string{"png", "gif", "jpeg"} {
		content := encoded(t, kind, corner(300, 200))
		got, scaled, err := s.Fit(content, picture.Limits{})
		require.NoError(t, err)
		require.False(t, scaled)
		require.Same(t, &content[0], &got[0])
	}
}

func TestALargePictureIsScaled(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	for _, kind := range []string{"png", "gif", "jpeg"} {
		content := encoded(t, kind, corner(1200, 600))
		got, scaled, err := s.Fit(content, picture.Limits{Side: 400})
		require.NoError(t, err)
		require.True(t, scaled)
		head, made, err := image.DecodeConfig(bytes.NewReader(got))
		require.NoError(t, err)
		require.Equal(t, []any{"jpeg", 400, 200}, []any{made, head.Width, head.Height}, kind)
		again, _, err := s.Fit(content, picture.Limits{Side: 400})
		require.NoError(t, err)
		require.Same(t, &got[0], &again[0], "it is not made twice")
	}
	noise := image.NewGray(image.Rect(0, 0, 1000, 1000))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(random.Uint32())
	}
	got, scaled, err := s.Fit(encoded(t, "png", noise), picture.Limits{Bytes: 100_000})
	require.NoError(t, err)
	require.True(t, scaled)
	require.LessOrEqual(t, len(got), 100_000)
	_, _, err = s.Fit(encoded(t, "png", noise), picture.Limits{Bytes: 10})
	require.ErrorContains(t, err, "can't be made small enough")
	narrow, _, err := s.Fit(encoded(t, "png", corner(3000, 1)), picture.Limits{})
	require.NoError(t, err)
	head, _, err := image.DecodeConfig(bytes.NewReader(narrow))
	require.NoError(t, err)
	require.Equal(t, 1, head.Height)
}

// A transparent picture is on white, as people see it.
func TestATransparentPicture(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	got, _, err := s.Fit(encoded(t, "png", image.NewNRGBA(image.Rect(0, 0, 100, 100))), picture.Limits{Side: 50})
	require.NoError(t, err)
	img, err := jpeg.Decode(bytes.NewReader(got))
	require.NoError(t, err)
	r, g, b, _ := img.At(10, 10).RGBA()
	require.Greater(t, min(r, g, b), uint32(0xf000))
}

// A picture is shown the right way up, however the camera was held.
func TestOrientation(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	plain := encoded(t, "jpeg", corner(80, 40))
	// where the green corner is then: right, below
	for turn, want := range map[uint16][4]int{1: {80, 40, 0, 0}, 2: {80, 40, 1, 0}, 3: {80, 40, 1, 1}, 4: {80, 40, 0, 1}, 5: {40, 80, 0, 0}, 6: {40, 80, 1, 0}, 7: {40, 80, 1, 1}, 8: {40, 80, 0, 1}} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			got, scaled, err := s.Fit(held(t, order, turn, plain), picture.Limits{})
			require.NoError(t, err)
			require.Equal(t, turn != 1, scaled)
			img, err := jpeg.Decode(bytes.NewReader(got))
			require.NoError(t, err)
			w, h := img.Bounds().Dx(), img.Bounds().Dy()
			require.Equal(t, []int{want[0], want[1]}, []int{w, h}, "%d", turn)
			red, green, _, _ := img.At(w/4+want[2]*w/2, h/4+want[3]*h/2).RGBA()
			require.Greater(t, green, red, "%d", turn)
		}
	}
	for _, turn := range []uint16{0, 9, 65535} {
		_, scaled, err := s.Fit(held(t, binary.LittleEndian, turn, plain), picture.Limits{})
		require.NoError(t, err)
		require.False(t, scaled)
	}
}

// bomb is a PNG whose head claims a size.
func bomb(t *testing.T, w, h uint32) []byte {
	t.Helper()
	content := encoded(t, "png", corner(2, 2))
	binary.BigEndian.PutUint32(content[16:], w)
	binary.BigEndian.PutUint32(content[20:], h)
	sum := crc32.ChecksumIEEE(content[12:29])
	binary.BigEndian.PutUint32(content[29:], sum)
	return content
}

func TestHostilePictures(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	large := encoded(t, "jpeg", corner(3000, 2000))
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"a bomb":            {bomb(t, 50_000, 50_000), "more than 25 million pixels"},
		"the largest bomb":  {bomb(t, 1<<31-1, 1<<31-1), "picture"},
		"a narrow bomb":     {bomb(t, 1<<30, 1), "more than 25 million pixels"},
		"a truncated one":   {large[:len(large)/2], "read picture"},
		"a truncated head":  {large[:20], "read picture"},
		"a large empty one": {bomb(t, 5000, 5000), "read picture"},
		"nothing":           {nil, "read picture"},
		"text":              {[]byte("<svg/>"), "read picture"},
	} {
		_, _, err := s.Fit(c.content, picture.Limits{})
		require.ErrorContains(t, err, c.says, name)
	}
	for i := range 200 { // broken Exif data is no orientation, and nothing panics
		content := held(t, binary.LittleEndian, 6, encoded(t, "jpeg", corner(20, 10)))
		content[2+i%60] ^= byte(1 + i)
		_, _, _ = s.Fit(content, picture.Limits{})
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var s picture.Scaler
	content := encoded(t, "png", corner(500, 500))
	var all sync.WaitGroup
	got := make([][]byte, 20)
	for i := range got {
		all.Go(func() { got[i], _, _ = s.Fit(content, picture.Limits{Side: 100}) })
	}
	all.Wait()
	for _, g := range got {
		require.Same(t, &got[0][0], &g[0], "it is made once")
	}
}

func FuzzFit(f *testing.F) {
	var s picture.Scaler
	var out bytes.Buffer
	if err := png.Encode(&out, corner(40, 20)); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		got, _, err := s.Fit(content, picture.Limits{Side: 16, Bytes: 10_000})
		if err == nil {
			head, _, err := image.DecodeConfig(bytes.NewReader(got))
			require.NoError(t, err)
			require.LessOrEqual(t, max(head.Width, head.Height), 16)
		}
	})
}
