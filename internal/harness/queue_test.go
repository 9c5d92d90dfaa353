package harness

import (
	"slices"
	"testing"
)

func drain(q *queue, heavyLane bool) (order []int) {
	for {
		i, ok := q.next(heavyLane)
		if !ok {
			return order
		}
		order = append(order, i)
	}
}

func TestQueueShufflesBySeedSlowCasesFirstHeavyOnesInOneLane(t *testing.T) {
	var cases []Case
	for i := range 30 {
		cases = append(cases, Case{Slow: i == 17, Heavy: i%10 == 0})
	}
	q := newQueue(cases, 1)
	light := drain(q, false)
	if len(light) != 27 || light[0] != 17 || slices.ContainsFunc(light, func(i int) bool { return cases[i].Heavy }) {
		t.Errorf("a light lane is handed %v: want the slow case first, all 27 that are not heavy, and no other", light)
	}
	heavy := drain(q, true)
	slices.Sort(heavy)
	if !slices.Equal(heavy, []int{0, 10, 20}) {
		t.Errorf("the heavy lane is handed %v of the rest, want the three heavy ones", heavy)
	}
	if all := drain(newQueue(cases, 1), true); len(all) != 30 || !slices.Equal(all[3:], light) {
		t.Errorf("alone, the heavy lane is handed %v, want the heavy cases and then %v", all, light)
	}
	if slices.Equal(light, drain(newQueue(cases, 2), false)) {
		t.Error("another seed gives the same order")
	}
}
