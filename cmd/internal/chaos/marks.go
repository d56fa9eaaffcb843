package chaos

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"
)

// execution is one execution of an expert's program, according to its own marks.
type execution struct {
	job, subjob string
	run, pid    int
	begin       time.Time
	// seen is the last heartbeat, end is when its work was done; zero if there was none.
	seen, end time.Time
}

// readMarks returns the executions of each SubJob, by job and SubJob, in the order of their begin.
func readMarks(path string) (map[[2]string][]*execution, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	type key struct {
		job, subjob string
		run, pid    int
	}
	all := map[key]*execution{}
	by := map[[2]string][]*execution{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var what string
		var k key
		var at int64
		if n, err := fmt.Sscan(lines.Text(), &what, &k.job, &k.subjob, &k.run, &k.pid, &at); err != nil || n != 6 {
			continue // Its writer was killed in the middle of the line.
		}
		e, now := all[k], time.Unix(0, at)
		if e == nil {
			e = &execution{job: k.job, subjob: k.subjob, run: k.run, pid: k.pid, begin: now}
			all[k] = e
			by[[2]string{k.job, k.subjob}] = append(by[[2]string{k.job, k.subjob}], e)
		}
		if e.seen = now; what == "end" {
			e.end = now
		}
	}
	for _, list := range by { // any order: each is sorted by itself.
		slices.SortFunc(list, func(a, b *execution) int { return cmp.Compare(a.begin.UnixNano(), b.begin.UnixNano()) })
	}
	return by, nil
}

// atWork counts the executions with a recent heartbeat that have not ended.
func atWork(path string, now time.Time) int {
	by, err := readMarks(path)
	if err != nil {
		return 0
	}
	n := 0
	for _, list := range by { // any order: they are counted.
		for _, e := range list {
			if e.end.IsZero() && now.Sub(e.seen) < 500*time.Millisecond {
				n++
			}
		}
	}
	return n
}
