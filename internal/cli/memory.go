package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// memory is the API's version of a memory.
type memory struct {
	ID        string     `json:"id"`
	Namespace string     `json:"namespace"`
	Audience  string     `json:"audience"`
	Level     string     `json:"classification"`
	Trust     string     `json:"trust"`
	Key       string     `json:"key"`
	Content   string     `json:"content"`
	Tags      []string   `json:"tags"`
	Session   string     `json:"session"`
	Updated   time.Time  `json:"updated_at"`
	Expires   *time.Time `json:"expires_at"`
	Deleted   bool       `json:"deleted"`
	Ending    string     `json:"ending"`
}

// state says what a version is to people.
func (m memory) state() string {
	switch {
	case m.Deleted && m.Ending == "":
		return "tombstone"
	case m.Deleted:
		return "tombstone, " + m.Ending
	}
	return orText(m.Ending, "current")
}

func (a *app) memoryCommand() *cobra.Command {
	return group("memory", "What agents remember across sessions", a.memoryList(), a.memorySearch(), a.memoryShow(), a.memoryDelete())
}

// memoryFlags say which memories are meant.
type memoryFlags struct {
	namespace, audience string
	limit               int
}

func (f *memoryFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "only of this agent, or of the agents that share this `name`")
	cmd.Flags().StringVar(&f.audience, "audience", "", "only what was told here: owner, or the `key` of a conversation")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "at most this `number`")
}

func (f *memoryFlags) query(more ...string) url.Values {
	return queryOf(append(more, "namespace", f.namespace, "audience", f.audience, "limit", strconv.Itoa(f.limit))...)
}

func (a *app) memoryList() *cobra.Command {
	var o output
	var f memoryFlags
	var tag, after string
	cmd := o.flag(&cobra.Command{
		Use: "list", Short: "List memories by their keys", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/memory", func() url.Values { return f.query("tag", tag, "after", after) }), a.printMemories),
	})
	f.flags(cmd)
	cmd.Flags().StringVar(&tag, "tag", "", "only those with this `tag`")
	cmd.Flags().StringVar(&after, "after", "", "go on behind the page that ended with this `cursor`")
	return cmd
}

func (a *app) memorySearch() *cobra.Command {
	var o output
	var f memoryFlags
	cmd := o.flag(&cobra.Command{
		Use: "search WORDS", Short: "Find memories by words, the best first", Args: cobra.MinimumNArgs(1),
		RunE: ask(a, &o, func(args []string) (request, error) {
			return request{path: "/v1/memory", query: f.query("q", strings.Join(args, " "))}, nil
		}, a.printMemories),
	})
	f.flags(cmd)
	return cmd
}

// memoryList is a page of the API's memories.
type memoryList struct {
	Memories []memory `json:"memories"`
	Next     string   `json:"next"`
}

func (a *app) printMemories(got memoryList) error {
	err := list(a, []string{"ID", "NAMESPACE", "TOLD IN", "LEVEL", "KEY", "CONTENT", "TAGS", "SAVED"}, got.Memories, func(m memory) []string {
		return []string{m.ID, m.Namespace, m.Audience, m.Level, short(m.Key), short(m.Content), strings.Join(m.Tags, ","), a.ago(m.Updated)}
	})
	if err != nil {
		return err
	}
	return a.more("There are more", got.Next)
}

func (a *app) memoryShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show ID", Short: "Show a memory, and what was under its key before", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, named("/v1/memory"), a.printMemory),
	})
}

// memoryHistory is a memory and what was under its key before.
type memoryHistory struct {
	Memory   memory   `json:"memory"`
	Versions []memory `json:"versions"`
}

func (a *app) printMemory(got memoryHistory) error {
	m, expires := got.Memory, "never"
	if m.Expires != nil {
		expires = m.Expires.Format(time.RFC3339)
	}
	err := a.pairs("key", m.Key, "namespace", m.Namespace, "told in", m.Audience, "level", m.Level+", "+m.Trust, "tags", strings.Join(m.Tags, ","),
		"saved", a.ago(m.Updated), "by session", m.Session, "expires", expires, "state", m.state())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.Stdout, "\n%s\n\n", safe(m.Content)); err != nil {
		return err
	}
	return list(a, []string{"VERSION", "STATE", "CONTENT", "SAVED"}, got.Versions, func(v memory) []string {
		return []string{v.ID, v.state(), short(v.Content), a.ago(v.Updated)}
	})
}

func (a *app) memoryDelete() *cobra.Command {
	var uncover bool
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Let an agent forget; what was there is kept as a version, and `show ID` names its tombstone", Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			r := request{method: http.MethodDelete, path: "/v1/memory/" + url.PathEscape(args[0])}
			if uncover {
				r.query = queryOf("uncover", "true")
			}
			if _, err := c.call(ctx, r); err != nil {
				return err
			}
			said := "is forgotten"
			if uncover {
				said = "is gone, and what was below it is seen again"
			}
			_, err = fmt.Fprintf(a.Stdout, "%s %s\n", clean(args[0]), said)
			return err
		}),
	}
	cmd.Flags().BoolVar(&uncover, "uncover", false, "let what less confidential conversations have saved under the key be seen again where this was")
	return cmd
}
