package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A row is kept unless a write may have changed it since it was read.
func TestRecentSessions(t *testing.T) {
	t.Parallel()
	record := sessions.Record{ID: "sess_1", Key: "agent:main:main", Revision: 4, Taint: flow.Bottom()}
	save := &ledger.Change{Change: sessions.Change{Save: []sessions.Record{record}}}
	patch := &ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{{ID: record.ID}}}}
	read := func(s *recentSessions) {
		_, _, before := s.byID(record.ID)
		s.learn(record, before)
	}
	for what, c := range map[string]struct {
		others bool // write to the database
		do     func(s *recentSessions)
		want   int64 // revision of the kept row; 0 for none
	}{
		"read":        {want: 4, do: read},
		"others":      {others: true, do: read},
		"saved":       {want: 5, do: func(s *recentSessions) { read(s); s.changing(save)(nil) }},
		"saved only":  {do: func(s *recentSessions) { s.changing(save)(nil) }},
		"refused":     {do: func(s *recentSessions) { read(s); s.changing(save)(errors.New("refused")) }},
		"patched":     {do: func(s *recentSessions) { read(s); s.changing(patch)(nil) }},
		"during":      {do: func(s *recentSessions) { ended := s.changing(save); read(s); ended(nil) }},
		"still going": {do: func(s *recentSessions) { s.changing(save); read(s) }},
		"after":       {want: 4, do: func(s *recentSessions) { s.changing(save)(nil); read(s) }},
		"before": {do: func(s *recentSessions) {
			_, _, before := s.byKey(record.Key)
			s.changing(patch)(nil)
			s.learn(record, before)
		}},
		"one in another": {do: func(s *recentSessions) {
			read(s)
			ended := s.changing(save)
			s.changing(patch)(nil)
			ended(nil)
		}},
		"one after the other begins": {do: func(s *recentSessions) {
			read(s)
			ended := s.changing(save)
			other := s.changing(patch)
			ended(nil)
			other(nil)
		}},
		"beside writes of others": {want: 5, do: func(s *recentSessions) {
			read(s)
			ended := s.changing(save)
			for n := range 4 * recentStripes { // some of them share a stripe with the session
				other := sessions.Patch{ID: sessions.ID(fmt.Sprint("sess_other", n))}
				s.changing(&ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{other}}})
			}
			ended(nil)
		}},
		"ended": {do: func(s *recentSessions) {
			over := record
			over.Ended = record.Created.AddDate(2020, 0, 0)
			_, _, before := s.byID(over.ID)
			s.learn(over, before)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newRecentSessions(!c.others)
			if c.others {
				require.Nil(t, s.changing(save))
			}
			c.do(s)
			byID, _, _ := s.byID(record.ID)
			byKey, _, _ := s.byKey(record.Key)
			require.Equal(t, []int64{c.want, c.want}, []int64{byID.Revision, byKey.Revision})
		})
	}
}

func TestRecentSessionsAreBounded(t *testing.T) {
	t.Parallel()
	large := make(json.RawMessage, recentBytes/10)
	for what, c := range map[string]struct {
		record sessions.Record // besides id and key
		want   int
	}{
		"number":   {want: recentMax},
		"metadata": {record: sessions.Record{Metadata: large}, want: 9},
		"title":    {record: sessions.Record{Title: flow.NewText(string(large), flow.Bottom())}, want: 9},
		"paths":    {record: sessions.Record{FileAccess: sessions.FileAccess{Read: []string{string(large)}, Write: []string{string(large)}}}, want: 4},
		"too much": {record: sessions.Record{Metadata: make(json.RawMessage, recentBytes)}, want: 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newRecentSessions(true)
			for n := range recentMax + 5 {
				r := c.record
				r.ID, r.Key = sessions.ID(fmt.Sprint("sess_", n)), sessions.Key(fmt.Sprint("agent:main:", n))
				_, _, before := s.byID(r.ID)
				s.learn(r, before)
				s.learn(r, before) // it counts once
			}
			require.Equal(t, []int{c.want, c.want}, []int{len(s.rows), len(s.ids)})
			for id := range s.rows {
				s.drop(id)
			}
			require.Zero(t, s.bytes)
		})
	}
}
