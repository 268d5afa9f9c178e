package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/request"
)

func TestError(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &request.Error{Field: "to", Text: "is empty"}, "to: is empty")
	require.EqualError(t, &request.Error{Text: "a rule keeps it"}, "a rule keeps it")
}
