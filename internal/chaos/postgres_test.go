package chaos_test

import (
	"testing"

	"sluice/store/storetest"
)

func TestKillOnPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{store: storetest.NewServer(t).Database(t), seedPlus: 30})
	newCampaign().run(w)
	w.settle()
	w.judge()
}
