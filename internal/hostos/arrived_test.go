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
			require.False(t, arrived(t, near), "nothing was sent")

			begun, read := make(chan struct{}), make(chan string)
			go func() {
				var two [2]byte
				close(begun)
				n, _ := near.Read(two[:])
				read <- string(two[:n])
			}()
			<-begun
			require.False(t, arrived(t, near), "it does not wait for another reader")
			_, err = far.Write([]byte("a"))
			require.NoError(t, err)
			require.Equal(t, "a", <-read)

			_, err = far.Write([]byte("b"))
			require.NoError(t, err)
			for !arrived(t, near) { // the system delivers it in its own time
				runtime.Gosched()
			}
			var one [1]byte
			_, err = near.Read(one[:])
			require.NoError(t, err)
			require.Equal(t, "b", string(one[:]), "it was only looked at")
			require.False(t, arrived(t, near))

			require.NoError(t, far.Close())
			for !arrived(t, near) { // the system delivers it in its own time
				runtime.Gosched()
			}
			require.NoError(t, near.Close())
			require.True(t, arrived(t, near), "it is closed")
		})
	}
	one, other := net.Pipe()
	_, known := hostos.Arrived(one)
	require.False(t, known, "it has no file descriptor")
	require.NoError(t, other.Close())
}

func arrived(t *testing.T, conn net.Conn) bool {
	t.Helper()
	arrived, known := hostos.Arrived(conn)
	require.True(t, known)
	return arrived
}
