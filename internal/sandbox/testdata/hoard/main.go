// Command hoard fills memory that belongs to no mapping of a process, and so is not counted.
package main

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	for range 8 {
		fd, err := unix.MemfdCreate("hoard", 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 64 {
			if _, err := syscall.Write(fd, make([]byte, 1<<20)); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println("hoarded")
	time.Sleep(3 * time.Second) // for the watcher, who looks every 50 ms
}
