package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// The names of a JPEG's parts and of the tag in its Exif data that says how the camera was held.
const (
	exifPart       = 0xe1
	scanPart       = 0xda
	orientationTag = 0x0112
)

// orientation says how a JPEG must be turned: 1 to 8, as in Exif. 1 means not at all, also if the data is broken.
func orientation(content []byte) int {
	rest, ok := bytes.CutPrefix(content, []byte{0xff, 0xd8})
	for ok && len(rest) >= 4 && rest[0] == 0xff && rest[1] != scanPart {
		size := int(binary.BigEndian.Uint16(rest[2:])) + 2
		if size < 4 || size > len(rest) {
			return 1
		}
		if tiff, found := bytes.CutPrefix(rest[4:size], []byte("Exif\x00\x00")); found && rest[1] == exifPart {
			return orientationIn(tiff)
		}
		rest = rest[size:]
	}
	return 1
}

// orientationIn reads the tag from the first directory of Exif data, which is written as in TIFF.
func orientationIn(tiff []byte) int {
	var order binary.ByteOrder = binary.BigEndian
	if bytes.HasPrefix(tiff, []byte("II")) {
		order = binary.LittleEndian
	}
	if len(tiff) < 8 {
		return 1
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == orientationTag {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// turned returns a picture upright.
func turned(src *image.RGBA, turn int) *image.RGBA {
	if turn == 1 {
		return src
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	size := image.Rect(0, 0, w, h)
	if turn >= 5 { // width and height are swapped
		size = image.Rect(0, 0, h, w)
	}
	dst := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			to := [8]image.Point{{x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y}, {x, h - 1 - y}, {y, x}, {h - 1 - y, x}, {h - 1 - y, w - 1 - x}, {y, w - 1 - x}}[turn-1]
			copy(dst.Pix[dst.PixOffset(to.X, to.Y):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}
