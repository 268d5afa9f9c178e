package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/model/wire"
)

// holdEnv makes the test binary the server of [BenchmarkWaiting].
const holdEnv = "SLUICE_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		if err := hold(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// hold takes requests and answers none. It prints its address, then a line for
// each request that has come whole, and ends with its standard input.
func hold() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() { // ends with the process
		_ = http.Serve(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Println("came")
			<-r.Context().Done()
		}))
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkWaiting holds 2,000 requests that wait for their first byte, each
// with a prompt of 20 kB of its own, and reports what one costs in this process:
// heap and stacks, without the prompt's own strings, which the caller holds.
func BenchmarkWaiting(b *testing.B) {
	const waiting = 2000
	address, lines := startHold(b)
	prompts := make([][]string, waiting)
	for i := range prompts {
		prompts[i] = []string{strings.Repeat(fmt.Sprint(i%10), 20_000)}
	}
	for b.Loop() {
		before := memory()
		client := wire.NewClient(wire.Config{Transport: wire.NewTransport(), Model: "p/m"})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		for _, prompt := range prompts {
			running.Go(func() { _ = client.Stream(ctx, address, nil, wire.Body{Object: prompt}, &record{}) })
		}
		for range waiting {
			require.True(b, lines.Scan())
		}
		after := memory()
		b.ReportMetric(float64(after.heap-before.heap)/waiting, "heap-B/waiting")
		b.ReportMetric(float64(after.stack-before.stack)/waiting, "stack-B/waiting")
		b.ReportMetric(float64(after.heap+after.stack-before.heap-before.stack)/waiting, "B/waiting")
		cancel()
		running.Wait()
		runtime.KeepAlive(prompts)
	}
}

// startHold starts the server as a process of its own, so that its memory is not counted.
func startHold(b *testing.B) (address string, lines *bufio.Scanner) {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	server := exec.CommandContext(b.Context(), self)
	server.Env = append(os.Environ(), holdEnv+"=1")
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	require.NoError(b, err)
	out, err := server.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, server.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = server.Wait() // it may have been ended with the benchmark's context
	})
	lines = bufio.NewScanner(out)
	require.True(b, lines.Scan())
	return lines.Text(), lines
}

type usage struct{ heap, stack int64 }

func memory() usage {
	runtime.GC()
	runtime.GC() // the second frees what pools still held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{heap: int64(m.HeapAlloc), stack: int64(m.StackInuse)}
}
