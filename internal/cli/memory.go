package cli

import (
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func memoryCommand(g command.Deps) *cobra.Command {
	return command.Group("memory", "What agents remember across sessions", memoryList(g), memorySearch(g), memoryShow(g), memoryVersions(g), memoryDelete(g))
}

// whose adds the flags for the agents and the place of memories.
func whose(p *command.Page, cmd *cobra.Command) {
	p.Filter(cmd, "namespace", "namespace", "show only the memories of this agent, or of the agents that share this `name`")
	p.Filter(cmd, "audience", "audience", "show only memories from one place: owner, or the `key` of a conversation")
}

func memoryList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List memories by key", Args: command.Args(0, 0)}, command.Get("/v1/memory", p.Query), printMemories)
	whose(&p, cmd)
	p.Level(cmd, "memories")
	p.Filter(cmd, "tag", "tag", "show only memories with this `tag`")
	return p.Add(cmd)
}

func memorySearch(g command.Deps) *cobra.Command {
	p := command.Page{Limit: 50}
	cmd := command.Asking(g, &cobra.Command{Use: "search WORDS", Short: "Search memories, best match first", Args: command.Args(1, command.Unlimited)}, func(args []string) (api.Request, error) {
		return api.Request{Path: "/v1/memory", Query: p.With("q", strings.Join(args, " "))}, nil
	}, printMemories)
	whose(&p, cmd)
	p.Level(cmd, "memories")
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "show at most this `number` of memories")
	return cmd
}

func printMemories(s terminal.Screen, got api.MemoryList) error {
	err := terminal.List(s, "No memories found.", []string{"ID", "NAMESPACE", "AUDIENCE", "LEVEL", "KEY", "CONTENT", "TAGS", "SAVED"}, got.Memories, func(m api.Memory) []string {
		return []string{m.ID, m.Namespace, m.Audience, m.Level, terminal.Short(m.Key), terminal.Short(m.Content), strings.Join(m.Tags, ","), s.Ago(m.Updated)}
	})
	if err != nil {
		return err
	}
	return s.More(got.Next)
}

func memoryShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show KEY|ID", Short: "Show a memory and the earlier versions of its key", Args: command.Args(1, 1)}, command.One("memory"), printMemory)
}

func printMemory(s terminal.Screen, got api.MemoryHistory) error {
	m, expires := got.Memory, "never"
	if m.Expires != nil {
		expires = m.Expires.Format(time.RFC3339)
	}
	err := s.Pairs("key", m.Key, "namespace", m.Namespace, "audience", m.Audience, "level", m.Level+", "+m.Trust, "tags", strings.Join(m.Tags, ","),
		"saved", s.Ago(m.Updated), "by session", m.Session, "expires", expires, "state", m.State())
	if err != nil {
		return err
	}
	if err := s.Printf("\n%s\n", terminal.Text(m.Content)); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"VERSION", "STATE", "CONTENT", "SAVED"}, got.Versions, func(v api.Memory) []string {
		return []string{v.ID, v.State(), terminal.Short(v.Content), s.Ago(v.Updated)}
	})
}

func memoryVersions(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{
		Use: "versions KEY", Short: "List all versions of a key, including replaced, deleted and expired ones", Args: command.Args(1, 1),
		Long: `List all versions of a key, including those that were replaced or deleted, or have expired.
They are kept as long as retention.memories says.`,
	}, func(args []string) (api.Request, error) {
		return api.Request{Path: "/v1/memory/versions", Query: p.With("key", args[0])}, nil
	}, func(s terminal.Screen, got api.MemoryVersions) error {
		err := terminal.List(s, "No versions of this key found.", []string{"VERSION", "NAMESPACE", "AUDIENCE", "LEVEL", "STATE", "CONTENT", "SAVED", "BY SESSION"}, got.Versions, func(m api.Memory) []string {
			return []string{m.ID, m.Namespace, m.Audience, m.Level, m.State(), terminal.Short(m.Content), s.Ago(m.Updated), m.Session}
		})
		if err != nil {
			return err
		}
		return s.More(got.Next)
	})
	whose(&p, cmd)
	return p.Add(cmd)
}

func memoryDelete(g command.Deps) *cobra.Command {
	var uncover bool
	cmd := command.Doing(g, &cobra.Command{
		Use: "delete KEY|ID", Short: "Delete a memory", Args: command.Args(1, 1),
		Long: `Delete a memory: agents no longer see it, nor what less confidential
conversations saved under its key. The deleted version stays in the history of
the key, where "sluice memory show" finds it.`,
	}, func(args []string) (api.Request, error) {
		r := api.Request{Method: http.MethodDelete, Path: api.Path("memory", args[0])}
		if uncover {
			r.Query = api.Query("uncover", "true")
		}
		return r, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		text := "deleted"
		if uncover {
			text = "deleted; agents now see what less confidential conversations saved under its key"
		}
		return s.Printf("%s: %s", terminal.Line(args[0]), text)
	})
	cmd.Flags().BoolVar(&uncover, "uncover", false, "show agents what less confidential conversations saved under the same key")
	return cmd
}
