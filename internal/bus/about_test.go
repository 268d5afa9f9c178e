package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// Replicas hear from heartbeats what others say of themselves. What can't be read is no difference.
func TestReplicasDescribeThemselves(t *testing.T) {
	t.Parallel()
	url := newCluster(t).url()
	none := &board{owners: map[int]map[string]bool{}}
	beats := make(chan *nats.Msg, 100)
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	one, two := start(t, url, "one"), start(t, url, "two")
	require.Empty(t, one.Replicas.Unlike(), "it has not said anything")
	one.Replicas.Describe(map[string]string{"database": "x"})
	two.Replicas.Describe(map[string]string{"database": "y"})
	require.NoError(t, one.Own(t.Context(), newOwner("one", none)))
	require.NoError(t, two.Own(t.Context(), newOwner("two", none)))
	_, err = conn.ChanSubscribe("sluice.members", beats)
	require.NoError(t, err)
	for len(one.Replicas.Unlike()) == 0 || len(two.Replicas.Unlike()) == 0 {
		receive(t, beats)
	}
	require.Equal(t, map[string][]string{"database": {"two"}}, one.Replicas.Unlike())
	two.Replicas.Describe(map[string]string{"database": "x"})
	for len(one.Replicas.Unlike()) > 0 || len(two.Replicas.Unlike()) > 0 {
		receive(t, beats)
	}
	strange := nats.NewMsg("sluice.members")
	strange.Data = []byte("three")
	strange.Header.Set("Sluice-About", "{")
	require.NoError(t, conn.PublishMsg(strange))
	for string(receive(t, beats).Data) != "three" {
	}
	require.Empty(t, one.Replicas.Unlike())
}
