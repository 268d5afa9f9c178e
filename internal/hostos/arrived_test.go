//go:build unix

package hostos_test

import (
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/hostos"
)

func TestArrived(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			address := "127.0.0.1:0"
			if network == "unix" {
				address = filepath.Join(t.TempDir(), "s")
			}
			listener, err := net.Listen(network, address)
			require.NoError(t, err)
			defer listener.Close() //nolint:errcheck // the end of the test
			near, err := net.Dial(network, listener.Addr().String())
			require.NoError(t, err)
			far, err := listener.Accept()
			require.NoError(t, err)
			require.False(t, hostos.Arrived(near), "nothing was sent")

			begun, read := make(chan struct{}), make(chan string)
			go func() {
				var two [2]byte
				close(begun)
				n, _ := near.Read(two[:])
				read <- string(two[:n])
			}()
			<-begun
			require.False(t, hostos.Arrived(near), "it does not wait for another reader")
			_, err = far.Write([]byte("a"))
			require.NoError(t, err)
			require.Equal(t, "a", <-read)

			_, err = far.Write([]byte("b"))
			require.NoError(t, err)
			for !hostos.Arrived(near) { // the system delivers it in its own time
				runtime.Gosched()
			}
			var one [1]byte
			_, err = near.Read(one[:])
			require.NoError(t, err)
			require.Equal(t, "b", string(one[:]), "it was only looked at")
			require.False(t, hostos.Arrived(near))

			require.NoError(t, far.Close())
			for !hostos.Arrived(near) { // the system delivers it in its own time
				runtime.Gosched()
			}
			require.NoError(t, near.Close())
			require.True(t, hostos.Arrived(near), "it is closed")
		})
	}
	one, other := net.Pipe()
	require.False(t, hostos.Arrived(one), "it has no file descriptor")
	require.NoError(t, other.Close())
}
