// Package recording computes the length of recordings from their content, without decoding the sound.
package recording

import (
	"bytes"
	"encoding/binary"
	"time"
)

// slowest is the assumed minimum of bytes per second, for formats that this package does not read: less than the codecs for
// speech in phones and browsers produce.
const slowest = 500

// opusRate is the number of samples per second of Opus.
const opusRate = 48_000

// Length returns the length of a recording. It is known for Ogg with Opus, MP3, WAV, FLAC, and MP4 with an index.
func Length(content []byte) (length time.Duration, known bool) {
	switch {
	case bytes.HasPrefix(content, []byte("OggS")):
		return ogg(content)
	case len(content) > 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WAVE":
		return wav(content[12:])
	case bytes.HasPrefix(content, []byte("fLaC")):
		return flac(content)
	case len(content) > 8 && string(content[4:8]) == "ftyp":
		return mp4(content)
	}
	return mp3(content)
}

// Longest returns the maximum length of a recording. A header may lie on purpose, so frames are counted where possible.
func Longest(content []byte) time.Duration {
	if length, known := Length(content); known {
		return length
	}
	return time.Duration(len(content)) * time.Second / slowest
}

// samples converts a number of samples to a time; false if the result makes no sense.
func samples(n, rate uint64) (time.Duration, bool) {
	const daysMax = 30 * 24 * 3600 // in seconds
	if rate == 0 || n == 0 || n/rate > daysMax {
		return 0, false
	}
	whole, rest := n/rate, n%rate
	return time.Duration(whole)*time.Second + time.Duration(rest*uint64(time.Second)/rate), true
}

// ogg adds up the packets of a file with Opus.
func ogg(content []byte) (time.Duration, bool) {
	const header, segmentMax = 27, 255
	var total uint64
	packets := map[uint32][]byte{} // by stream: the beginning of a packet that continues on the next page
	opus := map[uint32]int{}       // the number of packets of each stream
	room := len(content)           // for the sizes of parts: pages that lie over each other have more of them than the file has bytes
	for {
		at := bytes.Index(content, []byte("OggS"))
		if at < 0 {
			break
		}
		content = content[at:]
		if len(content) < header || len(content) < header+int(content[header-1]) {
			break
		}
		stream := binary.LittleEndian.Uint32(content[14:])
		table := content[header : header+int(content[header-1])]
		if room -= len(table); room < 0 {
			return 0, false
		}
		body := content[header+len(table):]
		content = content[4:] // a damaged page may hide others
		packet := packets[stream]
		for _, size := range table {
			part := body[:min(int(size), len(body))]
			body = body[len(part):]
			if len(packet) < len("OpusHead") {
				packet = append(packet, part[:min(len(part), len("OpusHead"))]...)
			}
			if size == segmentMax {
				continue // the packet continues on the next page
			}
			if opus[stream] == 0 && !bytes.HasPrefix(packet, []byte("OpusHead")) {
				return 0, false // another codec
			}
			if opus[stream]++; opus[stream] > 2 { // the first two describe the stream
				total += opusPacket(packet)
			}
			packet = nil
		}
		packets[stream] = packet
	}
	return samples(total, opusRate)
}

// opusPacket is the number of samples of a packet, see RFC 6716, section 3.1.
func opusPacket(p []byte) uint64 {
	if len(p) == 0 {
		return 0
	}
	const ms = opusRate / 1000
	var frame uint64 // in samples
	switch config := p[0] >> 3; {
	case config < 12:
		frame = [...]uint64{10, 20, 40, 60}[config%4] * ms
	case config < 16:
		frame = [...]uint64{10, 20}[config%2] * ms
	default:
		frame = [...]uint64{120, 240, 480, 960}[config%4]
	}
	switch p[0] & 3 {
	case 0:
		return frame
	case 1, 2:
		return 2 * frame
	}
	if len(p) < 2 {
		return 0
	}
	return min(uint64(p[1]&63)*frame, 120*ms)
}

// wav divides the sound by its rate.
func wav(chunks []byte) (time.Duration, bool) {
	const head, format = 8, 16
	var perSample, rate uint64
	for len(chunks) >= head {
		name, size := string(chunks[:4]), int(binary.LittleEndian.Uint32(chunks[4:]))
		chunks = chunks[head:]
		body := chunks[:min(size, len(chunks))]
		switch {
		case name == "fmt " && len(body) >= format:
			if kind := binary.LittleEndian.Uint16(body); kind == 0 || kind > 7 || kind == 2 { // not a code with a fixed size of a sample
				return 0, false
			}
			channels, bits := uint64(binary.LittleEndian.Uint16(body[2:])), uint64(binary.LittleEndian.Uint16(body[14:]))
			rate, perSample = uint64(binary.LittleEndian.Uint32(body[4:])), channels*((bits+7)/8)
		case name == "data" && perSample > 0:
			return samples((uint64(len(body))+perSample-1)/perSample, rate)
		}
		chunks = chunks[min(len(body)+len(body)%2, len(chunks)):]
	}
	return 0, false
}

// flac reads the number of samples in the header.
func flac(content []byte) (time.Duration, bool) {
	const head = 4 + 4 + 18
	if len(content) < head {
		return 0, false
	}
	packed := binary.BigEndian.Uint64(content[4+4+10:])
	return samples(packed&(1<<36-1), packed>>44)
}
