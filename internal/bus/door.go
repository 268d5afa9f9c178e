package bus

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"sluice/agentkit"
)

const (
	// clientsMax and subscriptionsMax bound the connections to an embedded server that accepts others, and the subscriptions
	// of each.
	clientsMax       = 1000
	subscriptionsMax = 10_000
	// ownUser is the user of this process.
	ownUser = "gateway"
)

// door decides who may connect to an embedded server that listens: this process, readers, and programs that are agents. Readers
// see all messages and what JetStream knows of its streams; they can't publish, nor change or take anything. A program
// sees and writes its own subjects alone.
type door struct {
	own    string
	reader func() string                          // empty: there are no readers
	agent  func(nkey string) (id string, ok bool) // whose public key this is
}

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
	case d.reader != nil && same(given, d.reader()):
		c.RegisterUser(&server.User{Username: "reader", Permissions: readers()})
		return true
	case o.Nkey != "" && d.agent != nil && signed(o.Nkey, o.Sig, c.GetNonce()):
		id, ok := d.agent(o.Nkey)
		if ok {
			c.RegisterUser(&server.User{Username: "agent " + id, Permissions: agentPermissions(id)})
		}
		return ok
	}
	return false
}

// signed reports whether a client has the private key of a public one.
func signed(public, signature string, nonce []byte) bool {
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		sig, err = base64.StdEncoding.DecodeString(signature)
	}
	return err == nil && len(nonce) > 0 && key.Verify(nonce, sig) == nil
}

// answersMax and answersTime bound how an agent's program may reply to requests about itself (NATS micro-services).
const (
	answersMax  = 16
	answersTime = time.Minute
)

// agentPermissions are those of the program of an agent.
func agentPermissions(id string) *server.Permissions {
	runs := agentkit.RunsSubject(id)
	return &server.Permissions{
		Subscribe: &server.SubjectPermission{Allow: []string{runs, runs + ".*", agentkit.CancelSubject(id), "$SRV.>", "_INBOX." + id + ".>"}},
		Publish:   &server.SubjectPermission{Allow: []string{agentkit.OutSubject(id, "*")}},
		Response:  &server.ResponsePermission{MaxMsgs: answersMax, Expires: answersTime},
	}
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
