package settings

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sluice/internal/config/tags"
)

// Entry is a section with a name, such as an account, or a section of a list, such as an agent. Sections inside a section
// of a list are not entries.
type Entry struct {
	Path  string
	Name  string // of a section of a list: its id or name; empty if it has none
	list  string // path of the list; empty for a section with a name
	named string // path of the name of a section of a list
}

// EntriesOf lists the entries of a checked configuration, in the order of its types.
func EntriesOf(config any) []Entry {
	var w walker
	w.walk(reflect.ValueOf(config).Elem(), tags.Field{}, "")
	if c, ok := config.(interface{ Written() map[string]string }); ok {
		for i, e := range w.entries {
			if text, ok := c.Written()[e.named]; ok { // as in [hide]
				w.entries[i].Name = text
			}
		}
	}
	return w.entries
}

// EntryChange is an entry that a change adds or removes.
type EntryChange struct {
	Path   string // of a removed one: before the change
	Name   string
	Effect string // added or removed
}

// entry adds the section at a path.
func (w *walker) entry(v reflect.Value, path, name, list string) {
	if w.patterns || v.Kind() != reflect.Struct || strings.Contains(path[:len(path)-1], "]") && list == "" || strings.Contains(list, "]") {
		return
	}
	named := ""
	for _, f := range tags.Of(v.Type()).Fields {
		if text := v.FieldByIndex(f.Index); list != "" && name == "" && text.Kind() == reflect.String && (f.Name == "id" || f.Name == "name") {
			name, named = text.String(), path+"."+f.Name
		}
	}
	w.entries = append(w.entries, Entry{path, name, list, named})
}

// moves says where the entries of lists are after a change, so that removing one does not look like a change of all that follow.
type moves struct {
	to      map[string]string // path before → path after
	removed map[string]bool   // paths before
}

// compare lists the entries that a change adds and removes.
func compare(before, after []Entry, old, next []Key) (out []EntryChange, m moves) {
	m = moves{map[string]string{}, map[string]bool{}}
	had, has := listsOf(before, old), listsOf(after, next)
	lists := map[string]bool{}
	for _, e := range before {
		if e.list == "" && !slices.ContainsFunc(after, func(o Entry) bool { return o.Path == e.Path }) {
			out = append(out, EntryChange{e.Path, e.Name, "removed"})
		}
		if e.list != "" && !lists[e.list] {
			lists[e.list] = true
			out = append(out, m.align(had[e.list], has[e.list])...)
		}
	}
	for _, e := range after {
		if e.list == "" && !slices.ContainsFunc(before, func(o Entry) bool { return o.Path == e.Path }) {
			out = append(out, EntryChange{e.Path, e.Name, "added"})
		}
		if e.list != "" && !lists[e.list] {
			lists[e.list] = true
			out = append(out, m.align(nil, has[e.list])...)
		}
	}
	return slices.DeleteFunc(out, func(e EntryChange) bool {
		return slices.ContainsFunc(out, func(o EntryChange) bool { return o != e && o.Effect == e.Effect && Below(e.Path, o.Path) })
	}), m
}

// listed is a section of a list. same identifies it before and after the change.
type listed struct {
	Entry
	same string
}

// listsOf returns the entries of each list. Without a name, an entry is known by its content.
func listsOf(entries []Entry, keys []Key) map[string][]listed {
	out := map[string][]listed{}
	for _, e := range entries {
		if e.list == "" {
			continue
		}
		same := "name " + e.Name
		if e.Name == "" {
			sum := sha256.New()
			for i := range keys {
				if below, ok := strings.CutPrefix(keys[i].Path, e.Path+"."); ok {
					fmt.Fprintf(sum, "%q %x\n", below, keys[i].sum)
				}
			}
			same = fmt.Sprintf("content %x", sum.Sum(nil))
		}
		out[e.list] = append(out[e.list], listed{e, same})
	}
	return out
}

// align finds the entries of one list again. If that is not clear, those with the same index are the same.
func (m *moves) align(before, after []listed) (out []EntryChange) {
	named := !slices.ContainsFunc(append(slices.Clone(before), after...), func(l listed) bool { return l.Name == "" })
	if !named && len(before) == len(after) {
		return nil
	}
	index := map[string]int{}
	for i, l := range after {
		index[l.same] = i
	}
	last, sure := -1, len(index) == len(after)
	kept := map[int]bool{}
	for _, l := range before {
		i, ok := index[l.same]
		if !ok {
			continue
		}
		sure = sure && i > last
		last, kept[i] = i, true
	}
	for _, l := range before {
		switch i, ok := index[l.same]; {
		case !ok:
			out = append(out, EntryChange{l.Path, l.Name, "removed"})
			m.removed[l.Path] = sure
		case sure:
			m.to[l.Path] = after[i].Path
		}
	}
	for i, l := range after {
		if !kept[i] {
			out = append(out, EntryChange{l.Path, l.Name, "added"})
		}
	}
	return out
}

// diff lists the keys that differ.
func (m *moves) diff(before, after []Key) []Change {
	var rest []Key
	var gone []Change
	for _, k := range before {
		entry := outermost(k.Path)
		switch to, ok := m.to[entry]; {
		case m.removed[entry]:
			if k.Set {
				gone = append(gone, Change{Path: k.Path, Kind: k.Kind, Before: k.Value, Was: true})
			}
			continue
		case ok:
			k.Path = to + k.Path[len(entry):]
		}
		rest = append(rest, k)
	}
	return append(Diff(rest, after), gone...)
}

// outermost returns the path of the outermost section of a list in which a key is; empty if it is in none.
func outermost(path string) string {
	if _, after, ok := strings.Cut(path, "]."); ok {
		return path[:len(path)-len(after)-1]
	}
	return ""
}

// ordered moves the removals of entries of lists behind all other edits, the last entry first: all paths name the entries as
// they are before the change. An entry that is removed twice is removed once, however its path is written.
func ordered(edits []Edit) []Edit {
	type removal struct {
		Edit
		steps []step // none: it is refused later
	}
	var out []Edit
	var removals []removal
	for _, e := range edits {
		if !e.Remove || !strings.HasSuffix(e.Path, "]") || strings.HasSuffix(e.Path, `"]`) {
			out = append(out, e)
			continue
		}
		steps, _ := stepsOf(e.Path)
		removals = append(removals, removal{e, steps})
	}
	slices.SortStableFunc(removals, func(a, b removal) int {
		return slices.CompareFunc(b.steps, a.steps, func(x, y step) int {
			return cmp.Or(strings.Compare(x.key, y.key), cmp.Compare(x.index, y.index))
		})
	})
	removals = slices.CompactFunc(removals, func(a, b removal) bool { return len(a.steps) > 0 && slices.Equal(a.steps, b.steps) })
	for _, r := range removals {
		out = append(out, r.Edit)
	}
	return out
}
