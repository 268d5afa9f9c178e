package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
)

// contracts are statements after which a program that does not know the migration may fail.
var contracts = regexp.MustCompile(`(?i)\b(DROP (TABLE|COLUMN|VIEW)|RENAME|ALTER COLUMN|SET NOT NULL|ADD CONSTRAINT|CREATE UNIQUE INDEX)\b|ADD COLUMN [^;,]*NOT NULL(?:[^;,D]|D[^E;,])*[;,]`)

// A migration that takes something away says which programs can still use the database. Those before 490, after which
// programs look at it, are as they are.
func TestMigrationsSayWhatTheyTakeAway(t *testing.T) {
	t.Parallel()
	for text, takes := range map[string]bool{
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '';":   false,
		"ALTER TABLE a ADD COLUMN b TEXT;\nCREATE INDEX c ON a;": false,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL;":              true,
		"ALTER TABLE a DROP COLUMN b;":                           true,
		"alter table a rename to b;":                             true,
	} {
		require.Equal(t, takes, contracts.MatchString(text), text)
	}
	raises := regexp.MustCompile(`UPDATE schema_compatible SET since = \d+;`)
	for _, dir := range []string{"../sqlite/migrations", "../postgres/migrations"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			version, err := goose.NumericComponent(name)
			require.NoError(t, err)
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			if version > 490 && contracts.Match(text) {
				require.Regexp(t, raises, string(text), "%s takes away or changes what older programs use", name)
			}
		}
	}
}
