package sample

import "testing"

func TestRoot(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 1, 4: 2, 8: 2, 9: 3} {
		if root, err := Root(n); root != want || err != nil {
			t.Errorf("Root(%d) is %d, %v", n, root, err)
		}
	}
	if _, err := Root(-1); err == nil {
		t.Error("Root(-1) gives no error")
	}
}

func TestBetween(t *testing.T) {
	if !Between(1, 1, 3) || Between(0, 1, 3) || Between(4, 1, 3) {
		t.Error("Between is wrong")
	}
}
