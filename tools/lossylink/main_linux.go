// Command lossylink makes the network device "lossy" for kernels without netem. Each packet to an address behind it
// comes back late, or is lost, with its addresses exchanged: whoever connects to 10.99.0.2 reaches a server on 10.99.0.1
// of the same machine, and TCP sends again what is lost. It says "ready", and ends when its input does.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	oneWay := flag.Duration("delay", 100*time.Millisecond, "how long a packet takes")
	loss := flag.Float64("loss", 0.05, "how many packets are lost")
	flag.Parse()
	device, err := open("lossy")
	if err != nil {
		fmt.Fprintln(os.Stderr, "lossylink:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	var packets, lost atomic.Int64
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintf(os.Stderr, "lossylink: %d packets, %d of them lost\n", packets.Load(), lost.Load())
		os.Exit(0)
	}()
	type late struct {
		packet []byte
		due    time.Time
	}
	onTheWay := make(chan late, 1<<16) // in order, as all take the same time
	go func() {
		for l := range onTheWay {
			time.Sleep(time.Until(l.due))
			_, _ = syscall.Write(device, l.packet) // the kernel drops what it can't take, as a network does
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(device, buffer)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lossylink:", err)
			os.Exit(1)
		}
		if n < 20 || buffer[0]>>4 != 4 { // IPv4 only
			continue
		}
		packets.Add(1)
		if rand.Float64() < *loss {
			lost.Add(1)
			continue
		}
		p := append([]byte(nil), buffer[:n]...)
		for i := 12; i < 16; i++ { // source and destination; the checksums stay right
			p[i], p[i+4] = p[i+4], p[i]
		}
		onTheWay <- late{p, time.Now().Add(*oneWay)}
	}
}

// open makes a device for IP packets.
func open(name string) (int, error) {
	device, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	var request struct { // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = syscall.IFF_TUN | syscall.IFF_NO_PI
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(device), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return 0, fmt.Errorf("make the device %s: %w", name, errno)
	}
	return device, nil
}
