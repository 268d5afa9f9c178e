package recording

import (
	"encoding/binary"
	"time"
)

// aacFrame is the number of samples in a frame of AAC, the codec of most of these files.
const aacFrame = 1024

// mp4 reads the index of a file, which has the lengths of the parts of each track. A fragmented file has no complete index.
func mp4(content []byte) (longest time.Duration, known bool) {
	moov, ok := box(content, "moov")
	if _, fragments := box(moov, "mvex"); !ok || fragments {
		return 0, false
	}
	boxes(moov, func(kind string, trak []byte) {
		if kind != "trak" {
			return
		}
		if length, ok := track(trak); ok {
			longest, known = max(longest, length), true
		}
	})
	return longest, known
}

func track(trak []byte) (time.Duration, bool) {
	mdia, _ := box(trak, "mdia")
	head, _ := box(mdia, "mdhd")
	minf, _ := box(mdia, "minf")
	stbl, _ := box(minf, "stbl")
	times, _ := box(stbl, "stts")
	const full = 4 // version and flags
	at := full + 8 // the scale follows two times, which are longer in version 1
	if len(head) > 0 && head[0] == 1 {
		at = full + 16
	}
	if len(head) < at+4 || len(times) < full+4 {
		return 0, false
	}
	scale := uint64(binary.BigEndian.Uint32(head[at:]))
	var total, count uint64
	for entry := times[full+4:]; len(entry) >= 8; entry = entry[8:] {
		n, each := uint64(binary.BigEndian.Uint32(entry)), uint64(binary.BigEndian.Uint32(entry[4:]))
		count += n
		total += n * each
	}
	return samples(max(total, count*aacFrame), scale)
}

// box finds a part of a container by its kind.
func box(content []byte, kind string) (body []byte, found bool) {
	boxes(content, func(k string, b []byte) {
		if k == kind && !found {
			body, found = b, true
		}
	})
	return body, found
}

// boxes visits the parts of a container.
func boxes(content []byte, visit func(kind string, body []byte)) {
	const head, long = 8, 16
	for len(content) >= head {
		size, from := uint64(binary.BigEndian.Uint32(content)), head
		switch {
		case size == 0:
			size = uint64(len(content))
		case size == 1 && len(content) >= long:
			size, from = binary.BigEndian.Uint64(content[head:]), long
		}
		if size < uint64(from) || size > uint64(len(content)) {
			return
		}
		visit(string(content[4:head]), content[from:size])
		content = content[size:]
	}
}
