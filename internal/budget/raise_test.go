package budget

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALimitIsRaisedOnlyWithAReason(t *testing.T) {
	t.Parallel()
	old, err := parseLimits("# about\n\ndirect sqlite reads 9\ndirect sqlite writes 8 raised because of a new table (was 7)\ndirect sqlite bytes 1000\n")
	require.NoError(t, err)
	cost := func(reads, writes, bytes float64) []line {
		return []line{{"direct", "sqlite", "reads", reads, ""}, {"direct", "sqlite", "writes", writes, ""}, {"direct", "sqlite", "bytes", bytes, ""}}
	}
	_, err = rewrite(old, cost(10, 8, 1000), "")
	require.ErrorContains(t, err, "direct sqlite reads: 10, the limit is 9")
	for name, c := range map[string]struct {
		measured []line
		why      string
		want     map[string]line
	}{
		"raised":  {cost(10, 8, 1000), "because", map[string]line{"reads": {limit: 10, why: "because (was 9)"}, "writes": {limit: 8, why: "of a new table (was 7)"}, "bytes": {limit: 1000}}},
		"lowered": {cost(8, 7, 900), "", map[string]line{"reads": {limit: 8}, "writes": {limit: 7}, "bytes": {limit: 900}}},
		"as far as the margin goes": {cost(9, 8, 1030), "", map[string]line{
			"reads": {limit: 9}, "writes": {limit: 8, why: "of a new table (was 7)"}, "bytes": {limit: 1000},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := rewrite(old, c.measured, c.why)
			require.NoError(t, err)
			got, err := parseLimits(text)
			require.NoError(t, err)
			for measure, want := range c.want {
				l := got["direct sqlite "+measure]
				require.InDelta(t, want.limit, l.limit, 0)
				require.Equal(t, want.why, l.why)
			}
		})
	}
}

func TestALimitThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"direct sqlite reads", "direct sqlite reads many"} {
		_, err := parseLimits(text)
		require.ErrorContains(t, err, "line 1")
	}
}

func TestAStatementHasOneNameOnBothDatabases(t *testing.T) {
	t.Parallel()
	require.Equal(t, name("SELECT a FROM t\n\t\tWHERE b = ? AND c = ?"), name("SELECT a FROM t WHERE b = $1 AND c = $2"))
	require.Equal(t, "INSERT INTO t (a, b) VALUES (…)", name("INSERT INTO t (a, b)\n VALUES ($1, $2)"))
	require.Equal(t, []string{transactions, commits, rollbacks, reads, writes},
		[]string{kind("BEGIN IMMEDIATE"), kind("COMMIT"), kind("ROLLBACK"), kind("SELECT 1"), kind("INSERT INTO t (a) VALUES (?)")})
}
