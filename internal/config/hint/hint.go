// Package hint says which setting is meant: how its path is written, and the word that somebody probably meant.
package hint

import (
	"strconv"
	"strings"
)

// Join adds a key to the path of a setting.
func Join(path, key string) string {
	if strings.ContainsAny(key, ".[] ") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// For suggests the known word that was probably meant, or lists the known words.
func For(word string, known []string) string {
	best, least := "", len(word)/2+1
	for _, k := range known {
		if n := distance(strings.ToLower(word), strings.ToLower(k)); n < least {
			best, least = k, n
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "want one of " + strings.Join(known, ", ")
}

// distance is the edit distance between a and b (insertions, deletions and substitutions).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			above := row[j+1]
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			row[j+1] = min(above+1, row[j]+1, cost)
			diagonal = above
		}
	}
	return row[len(y)]
}
