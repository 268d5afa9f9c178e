package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/access"
)

func TestCheckSaysWhatIsWrongWithAProxy(t *testing.T) {
	t.Parallel()
	people := []access.Person{{User: "*@example.org"}}
	for name, test := range map[string]struct {
		proxy  access.Proxy
		faults []string
	}{
		"none":        {access.Proxy{}, nil},
		"whole":       {access.Proxy{From: []string{"10.0.0.5", "10.1.0.0/16"}, Header: "X-Forwarded-Email", SignOut: "/oauth2/sign_out", People: people}, nil},
		"a URL":       {access.Proxy{SignOut: "https://sso.example/logout"}, nil},
		"a script":    {access.Proxy{SignOut: "javascript:alert(1)"}, []string{"p.signOut"}},
		"a host":      {access.Proxy{SignOut: "//sso.example"}, []string{"p.signOut"}},
		"a word":      {access.Proxy{SignOut: "logout"}, []string{"p.signOut"}},
		"an address":  {access.Proxy{From: []string{"proxy"}, Header: "X-Forwarded-Email", People: people}, []string{"p.from[0]"}},
		"no header":   {access.Proxy{From: []string{"::1"}, People: people}, []string{"p.header"}},
		"ours":        {access.Proxy{From: []string{"::1"}, Header: "cookie", People: people}, []string{"p.header"}},
		"no people":   {access.Proxy{From: []string{"::1"}, Header: "Remote-User"}, []string{"p.people"}},
		"a blank one": {access.Proxy{From: []string{"::1"}, Header: "Remote-User", People: []access.Person{{}}}, []string{"p.people[0].user"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults []string
			test.proxy.Check("p", func(path, text string) {
				require.NotEmpty(t, text)
				faults = append(faults, path)
			})
			require.Equal(t, test.faults, faults)
		})
	}
}
