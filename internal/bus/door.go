package bus

import (
	"crypto/subtle"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// readersMax and subscriptionsMax bound the connections to an embedded server that accepts readers, and the subscriptions
	// of each.
	readersMax       = 100
	subscriptionsMax = 10_000
	// ownUser is the user of this process.
	ownUser = "gateway"
)

// door decides who may connect to an embedded server that listens: this process, and readers. Readers see all messages and
// what JetStream knows of its streams; they can't publish, nor change or take anything.
type door struct{ own, reader string }

var _ server.Authentication = door{}

// Check implements [server.Authentication].
func (d door) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	given := o.Password
	if given == "" {
		given = o.Token
	}
	switch {
	case o.Username == ownUser && same(given, d.own):
		c.RegisterUser(&server.User{Username: ownUser})
		return true
	case same(given, d.reader):
		c.RegisterUser(&server.User{Username: "reader", Permissions: readers()})
		return true
	}
	return false
}

func same(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

func readers() *server.Permissions {
	return &server.Permissions{
		Subscribe: &server.SubjectPermission{Allow: []string{"sluice.>", "_INBOX.>"}},
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*",
			"$JS.API.CONSUMER.NAMES.*", "$JS.API.CONSUMER.LIST.*", "$JS.API.CONSUMER.INFO.*.*",
		}},
	}
}

// endpoint is where a server listens.
type endpoint struct {
	host string
	port int
}

func listenAt(address string) (endpoint, error) {
	host, text, err := net.SplitHostPort(address)
	port, bad := strconv.ParseUint(text, 10, 16)
	if err != nil || bad != nil {
		return endpoint{}, fmt.Errorf("bus.listen %q: want address:port", address)
	}
	at := endpoint{host, int(port)}
	if port == 0 {
		at.port = server.RANDOM_PORT
	}
	return at, nil
}
