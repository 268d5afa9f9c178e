package picture

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/color"
	stddraw "image/draw"
	_ "image/gif" // decoded
	"image/jpeg"
	_ "image/png" // decoded
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoded
)

// Limits is what a model accepts. A zero field stands for its default.
type Limits struct {
	Side  int // the longer side in pixels; larger pictures are scaled down by the provider, or refused
	Bytes int
}

// The defaults are what all well-known providers accept.
const (
	DefaultSide  = 2048
	DefaultBytes = 5 << 20
)

const (
	// pixelsMax is how many pixels are decoded, at most. The worst kind, a progressive JPEG, takes 15 bytes for each.
	pixelsMax = 25_000_000
	// keptMax is how many bytes of scaled pictures are kept in total.
	keptMax = 32 << 20
	// sideMin is how small a picture is made so that its bytes fit.
	sideMin = 256
	quality = 85
)

// ErrTooLarge is the error of a picture with more pixels than are decoded.
var ErrTooLarge = fmt.Errorf("the picture has more than %d million pixels", pixelsMax/1_000_000)

// Scaler scales pictures. The zero value is ready; it is safe for concurrent use.
type Scaler struct {
	decoding sync.Mutex // one picture at a time

	mu    sync.Mutex
	kept  map[key][]byte
	order []key // the oldest first
	size  int
}

// key names a scaled picture by what it was made of.
type key struct {
	sum    [sha256.Size]byte
	limits Limits
}

// Fit returns a picture that fits, and whether it is a new one, which is a JPEG. It returns an error if the picture is broken, of an
// unknown kind, or has too many pixels.
func (s *Scaler) Fit(content []byte, l Limits) (fitting []byte, scaled bool, err error) {
	if l.Side <= 0 {
		l.Side = DefaultSide
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	head, kind, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, false, fmt.Errorf("read picture: %w", err)
	}
	turn := 1
	if kind == "jpeg" {
		turn = orientation(content)
	}
	if max(head.Width, head.Height) <= l.Side && len(content) <= l.Bytes && turn == 1 {
		return content, false, nil
	}
	if head.Width <= 0 || head.Height <= 0 || head.Width > pixelsMax/head.Height {
		return nil, false, ErrTooLarge
	}
	of := key{sha256.Sum256(content), l}
	if known := s.find(of); known != nil {
		return known, true, nil
	}
	s.decoding.Lock()
	defer s.decoding.Unlock()
	if known := s.find(of); known != nil { // made while this call waited
		return known, true, nil
	}
	if fitting, err = scale(content, turn, l); err != nil {
		return nil, false, err
	}
	s.keep(of, fitting)
	return fitting, true, nil
}

// scale makes a JPEG within the limits.
func scale(content []byte, turn int, l Limits) ([]byte, error) {
	decoded, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	side := min(l.Side, max(decoded.Bounds().Dx(), decoded.Bounds().Dy()))
	for first := true; first || side >= sideMin; first, side = false, side*2/3 {
		var out bytes.Buffer
		if err := jpeg.Encode(&out, turned(shrunk(decoded, side), turn), &jpeg.Options{Quality: quality}); err != nil {
			return nil, fmt.Errorf("write picture: %w", err)
		}
		if out.Len() <= l.Bytes {
			return out.Bytes(), nil
		}
	}
	return nil, errors.New("the picture can't be made small enough")
}

// shrunk returns a picture whose longer side is as given. Transparent parts become white.
func shrunk(src image.Image, side int) *image.RGBA {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	if long := max(w, h); long > side {
		w, h = max(1, w*side/long), max(1, h*side/long)
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	stddraw.Draw(dst, dst.Bounds(), image.NewUniform(color.White), image.Point{}, stddraw.Src)
	draw.ApproxBiLinear.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Over, nil)
	return dst
}

func (s *Scaler) find(k key) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[k]
}

// keep remembers a scaled picture, and forgets the oldest ones for which there is no room.
func (s *Scaler) keep(k key, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[key][]byte{}
	}
	s.kept[k], s.order, s.size = content, append(s.order, k), s.size+len(content)
	for s.size > keptMax && len(s.order) > 0 {
		s.size -= len(s.kept[s.order[0]])
		delete(s.kept, s.order[0])
		s.order = s.order[1:]
	}
}
