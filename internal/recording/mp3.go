package recording

import (
	"bytes"
	"time"
)

// mp3 adds up the frames of a file, and skips bytes between them, as decoders do.
func mp3(content []byte) (time.Duration, bool) {
	content = content[min(tag(content), len(content)):]
	const framesMin = 2 // one may be a coincidence
	var total time.Duration
	frames := 0
	for len(content) >= 4 {
		size, length := frame(content)
		if size == 0 {
			next := bytes.IndexByte(content[1:], 0xff)
			if next < 0 {
				break
			}
			content = content[1+next:]
			continue
		}
		frames++
		total += length
		content = content[min(size, len(content)):]
	}
	return total, frames >= framesMin
}

// tag returns the size of the ID3 tag at the beginning of a file.
func tag(content []byte) int {
	const head = 10
	if len(content) < head || string(content[:3]) != "ID3" {
		return 0
	}
	size := 0
	for _, b := range content[6:head] {
		size = size<<7 | int(b&0x7f)
	}
	return head + size
}

// The rates of MPEG audio: kilobits per second by index, for version 1 and for the other versions, and samples per second of
// version 1.
var (
	layer1v1 = [...]int{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448}
	layer2v1 = [...]int{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384}
	layer3v1 = [...]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	layer1v2 = [...]int{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256}
	layer3v2 = [...]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	hertz    = [...]int{44_100, 48_000, 32_000}
)

// frame returns the size and the length of the MPEG audio frame at the beginning; 0 if there is no frame.
func frame(b []byte) (size int, length time.Duration) {
	version, layer, rate, speed := b[1]>>3&3, b[1]>>1&3, int(b[2]>>4), int(b[2]>>2&3)
	if b[0] != 0xff || b[1]&0xe0 != 0xe0 || version == 1 || layer == 0 || rate == 0 || rate == 15 || speed == 3 {
		return 0, 0
	}
	kbits, count, hz := layer3v1[rate], 1152, hertz[speed]
	first := version == 3
	switch {
	case layer == 3 && first:
		kbits, count = layer1v1[rate], 384
	case layer == 3:
		kbits, count = layer1v2[rate], 384
	case layer == 2 && first:
		kbits = layer2v1[rate]
	case !first:
		kbits = layer3v2[rate]
	}
	switch version {
	case 2:
		hz /= 2
	case 0:
		hz /= 4
	}
	if layer == 1 && !first {
		count = 576
	}
	padding := int(b[2] >> 1 & 1)
	if layer == 3 {
		size = (12*kbits*1000/hz + padding) * 4
	} else {
		size = count/8*kbits*1000/hz + padding
	}
	return size, time.Duration(count) * time.Second / time.Duration(hz)
}
