package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// The alert of a failing job has the label of who has named the job.
func TestAlertOfAFailingJobHasTheLabelOfItsName(t *testing.T) {
	t.Parallel()
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	job := &Job{ID: "secret-plan"}
	require.Equal(t, flow.Bottom(), failing(job, &ledger.Trigger{Label: secret}, 1).Label, "the text says nothing that a run has learned")
	named := ledger.Trigger{Label: secret}
	named.Names = secret
	require.Equal(t, secret, failing(job, &named, 1).Label)
}
