package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "status", Short: "Show how a running gateway does", Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var got map[string]any
			raw, err := c.get(ctx, "/v1/status", nil, &got)
			if err != nil {
				return err
			}
			return o.show(a, raw, func() error { return a.printTree(got, "") })
		}),
	})
}

// printTree prints a JSON object, one name a line, what is inside indented.
func (a *app) printTree(tree map[string]any, indent string) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if err := a.printNode(name, tree[name], indent); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printNode(name string, value any, indent string) error {
	switch v := value.(type) {
	case map[string]any:
		if _, err := fmt.Fprintf(a.Stdout, "%s%s:\n", indent, clean(name)); err != nil {
			return err
		}
		return a.printTree(v, indent+"  ")
	case []any:
		if _, err := fmt.Fprintf(a.Stdout, "%s%s:\n", indent, clean(name)); err != nil {
			return err
		}
		return a.printList(v, indent+"  ")
	}
	_, err := fmt.Fprintf(a.Stdout, "%s%s: %s\n", indent, clean(name), clean(scalar(value)))
	return err
}

func (a *app) printList(list []any, indent string) error {
	for _, item := range list {
		text := scalar(item)
		if object, ok := item.(map[string]any); ok {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(object)) {
				if s := scalar(object[name]); s != "" {
					parts = append(parts, name+" "+s)
				}
			}
			text = strings.Join(parts, ", ")
		}
		if _, err := fmt.Fprintf(a.Stdout, "%s- %s\n", indent, clean(text)); err != nil {
			return err
		}
	}
	return nil
}

func scalar(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
