package config

import "strings"

// hint says what was probably meant by a word that is none of those known.
func hint(word string, known []string) string {
	best, least := "", len(word)/2+1
	for _, k := range known {
		if n := distance(strings.ToLower(word), strings.ToLower(k)); n < least {
			best, least = k, n
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "known are " + strings.Join(known, ", ")
}

// distance is how many letters must be put in, taken out or changed to make a into b.
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
