package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/chaos/child"
)

var (
	long = flag.Bool("chaos", os.Getenv("SLUICE_CHAOS") == "full", "run the long kill tests; SLUICE_CHAOS=full does the same")
	many = flag.Int("chaos.messages", 0, "messages of TestCampaign and TestSlowNetwork; 0: few, or many with -chaos")
	on   = flag.String("chaos.platform", "telegram", "platform of TestCampaign: telegram, slack socket, slack http or discord")
	link = flag.String("chaos.link", "127.0.0.1", "the address of servers, and the one at which gateways reach them over a slow network, see tools/slownetwork")
	seed = flag.Uint64("chaos.seed", uint64(time.Now().UnixNano()), "seed of the random choices")
)

// binaries are the gateways under test, built when first asked for.
type binaries struct {
	dir    string
	usual  func() (string, error)
	faulty func() (string, error) // with fault points
}

var built binaries

func TestMain(m *testing.M) {
	flag.Parse()
	if err := beParallel(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "sluice-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = newBinaries(dir)
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir) // what is left is in the temporary folder
	os.Exit(code)
}

// beParallel lets more tests run beside each other than there are processors, if
// nobody has said how many: gateways that die and start are mostly waited for.
func beParallel() error {
	const tests = 6
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(max(tests, runtime.GOMAXPROCS(0))))
}

func newBinaries(dir string) binaries {
	build := func(name string, tags ...string) func() (string, error) {
		return sync.OnceValues(func() (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			out := filepath.Join(dir, name)
			return out, child.Build(ctx, child.BuildParams{Out: out, Tags: tags})
		})
	}
	b := binaries{dir: dir, usual: build("sluice"), faulty: build("sluice-faultpoints", "faultpoints", "mutants")}
	if !*long {
		b.usual = b.faulty // one build less; the compiler has most of it from the tests with the same tags
	}
	for variable, built := range map[string]*func() (string, error){"SLUICE_BIN": &b.usual, "SLUICE_BIN_FAULTPOINTS": &b.faulty} {
		if named := os.Getenv(variable); named != "" {
			*built = func() (string, error) { return named, nil }
		}
	}
	return b
}
