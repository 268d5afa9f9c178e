package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows/svc"

	"sluice/internal/cli/service"
)

// asService runs main under Windows' service manager, if that has started the program. Its request to stop arrives as a
// signal.
func asService(signals chan<- os.Signal, main func() int) int {
	if under, err := svc.IsWindowsService(); err != nil || !under {
		return main()
	}
	h := &handler{signals: signals, main: main}
	if err := svc.Run(service.Name, h); err != nil {
		return 1
	}
	return h.code
}

// handler is the service as its manager sees it. Its goroutine runs main; Execute waits for it.
type handler struct {
	signals chan<- os.Signal
	main    func() int
	code    int
}

// Execute implements [svc.Handler].
func (h *handler) Execute(_ []string, requests <-chan svc.ChangeRequest, changes chan<- svc.Status) (bool, uint32) {
	running := svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	ended := make(chan int, 1)
	go func() { ended <- h.main() }()
	changes <- running
	for {
		select {
		case h.code = <-ended:
			return false, uint32(h.code) //nolint:gosec // a small number
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				changes <- r.CurrentStatus
			case svc.Stop, svc.Shutdown:
				changes <- svc.Status{State: svc.StopPending}
				select {
				case h.signals <- syscall.SIGTERM:
				default: // it stops already
				}
			}
		}
	}
}
