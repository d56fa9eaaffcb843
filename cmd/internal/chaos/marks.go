package chaos

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
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

// mark identifies an execution.
type mark struct {
	job, subjob string
	run, pid    int
}

// marksFile reads a growing file of marks: each call reads only what was added since the last one.
type marksFile struct {
	path   string
	offset int64
	all    map[mark]*execution
}

func newMarksFile(path string) *marksFile { return &marksFile{path: path, all: map[mark]*execution{}} }

// read reads the lines that have been added. The last line may be incomplete; then it is read the next time.
func (m *marksFile) read() error {
	file, err := os.Open(m.path)
	if err != nil {
		return err
	}
	defer file.Close()
	added, err := io.ReadAll(io.NewSectionReader(file, m.offset, math.MaxInt64-m.offset))
	if err != nil {
		return err
	}
	added = added[:bytes.LastIndexByte(added, '\n')+1]
	m.offset += int64(len(added))
	for line := range strings.Lines(string(added)) {
		m.take(line)
	}
	return nil
}

// take applies one line of the file.
func (m *marksFile) take(line string) {
	var what string
	var k mark
	var at int64
	if n, err := fmt.Sscan(line, &what, &k.job, &k.subjob, &k.run, &k.pid, &at); err != nil || n != 6 {
		return // Its writer was killed in the middle of the line.
	}
	e, now := m.all[k], time.Unix(0, at)
	if e == nil {
		e = &execution{job: k.job, subjob: k.subjob, run: k.run, pid: k.pid, begin: now}
		m.all[k] = e
	}
	if e.seen = now; what == "end" {
		e.end = now
	}
}

// atWork counts the executions with a recent heartbeat that have not ended.
func (m *marksFile) atWork(now time.Time) int {
	if err := m.read(); err != nil {
		return 0
	}
	n := 0
	for _, e := range m.all { // any order: they are counted.
		if e.end.IsZero() && now.Sub(e.seen) < recent {
			n++
		}
	}
	return n
}

// recent is how old the last heartbeat of a program at work may be.
const recent = 500 * time.Millisecond

// readMarks returns the executions of each SubJob, by job and SubJob, in the order in which they began.
func readMarks(path string) (map[[2]string][]*execution, error) {
	m := newMarksFile(path)
	if err := m.read(); err != nil {
		return nil, err
	}
	by := map[[2]string][]*execution{}
	for _, e := range m.all { // any order: sorted below.
		by[[2]string{e.job, e.subjob}] = append(by[[2]string{e.job, e.subjob}], e)
	}
	for _, list := range by { // any order: each is sorted by itself.
		slices.SortFunc(list, func(a, b *execution) int {
			return cmp.Or(cmp.Compare(a.begin.UnixNano(), b.begin.UnixNano()), cmp.Compare(a.run, b.run), cmp.Compare(a.pid, b.pid))
		})
	}
	return by, nil
}
