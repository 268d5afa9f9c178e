package memories

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordsOfATextStandApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", wordMax+6)
	require.Equal(t, []string{long[:wordMax], "after", "it"}, words(long+" After, it"), "each word has its own length")
	require.Equal(t, []string{"中", "文", "cafe", "i"}, words("中文 Café ı"))
}

// A question of nothing but common words asks for these.
func TestQuestionOfCommonWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"garden"}, question("What about the garden, and the garden?"))
	require.Equal(t, []string{"what", "is", "it", "x"}, question("What is it, x? What?"))
	require.Equal(t, []string{"seven22", "six666", "five5", "four", "1", "2", "3", "4"}, question("1 2 3 4 5 four five5 six666 seven22"), "of a long one the longest, and of equals the first")
}

// Of many hits the best stay, whatever their order was; of equal ones the newest.
func TestBestHitsStay(t *testing.T) {
	t.Parallel()
	for range 20 { // a map gives them in another order each time
		require.Equal(t, []hit{{4, 9}, {7, 5}, {6, 5}}, top(map[int64]int{1: 1, 4: 9, 5: 5, 6: 5, 7: 5, 2: 2}, 3))
		require.Equal(t, []hit{{2, 1}, {1, 1}}, top(map[int64]int{1: 1, 2: 1}, 3))
	}
}
