package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// supported says whether this system can have a keeper.
const supported = true

// patience is how long a keeper may take to answer, or to read an order. A keeper that hangs is killed.
const patience = 10 * time.Second

// line is the runner's connection to one keeper process. Its goroutine ends with that process.
type line struct {
	keeper *exec.Cmd
	conn   *net.UnixConn
	ended  chan struct{} // Closed when the process has ended.

	say  sync.Mutex // Held while a frame is written.
	mu   sync.Mutex // Guards the fields below.
	next int
	kept map[int]*kept
	dead bool
}

// kept is what the runner knows of a program that it has told its keeper to start.
type kept struct {
	line    *line
	number  int
	group   *Group
	mark    string
	started chan error // Has room for the only answer.
}

// dial starts a keeper process and returns the connection to it.
func dial(after time.Duration) (*line, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "keeper")
	defer func() { _ = theirs.Close() }() // The keeper has a copy.
	conn, err := connection(pair[0])
	if err != nil {
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	l := &line{conn: conn, ended: make(chan struct{}), kept: map[int]*kept{}}
	// A separate session, so that signals of the terminal do not reach it. It gets nothing of the runner's environment.
	l.keeper = &exec.Cmd{
		Path: self, Args: []string{"jobgraph-keeper", keeperArgument, after.String()}, Env: []string{"GOMAXPROCS=4"}, Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := l.keeper.Start(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	go l.listen() // Ends with the process.
	return l, nil
}

// connection makes a connection from one end of a socket pair.
func connection(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "line")
	defer func() { _ = file.Close() }() // The connection has a copy.
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	end, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close() // The error path does not use it.
		return nil, fmt.Errorf("the line to the keeper is a %T", c)
	}
	return end, nil
}

// start makes the keeper start a program.
func (l *line) start(cmd *exec.Cmd, until Moment) (*Group, error) {
	var files []*os.File
	for _, end := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, ok := end.(*os.File)
		if !ok {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				return nil, fmt.Errorf("start program: %w", err)
			}
			defer func() { _ = null.Close() }() // The keeper has a copy.
			f = null
		}
		files = append(files, f)
	}
	files = append(files, cmd.ExtraFiles...)
	o := order{Path: cmd.Path, Args: cmd.Args, Env: cmd.Environ(), Dir: cmd.Dir, Until: until}
	if a := cmd.SysProcAttr; a != nil {
		o.Clone, o.Users, o.Groups, o.Ambient = a.Cloneflags, a.UidMappings, a.GidMappings, a.AmbientCaps
	}
	p := l.add(cmd.Env)
	o.Program = p.number
	timer := time.AfterFunc(patience, l.kill)
	l.tell(&o, files)
	err := <-p.started
	timer.Stop()
	if err != nil {
		return nil, err
	}
	return p.group, nil
}

// add registers a program under a new number.
func (l *line) add(env []string) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	p := &kept{line: l, number: l.next, mark: markOf(env), group: &Group{exited: make(chan struct{})}, started: make(chan error, 1)}
	p.group.reach = p
	l.kept[p.number] = p
	if l.dead {
		l.drop(p)
	}
	return p
}

// tell writes an order. A keeper that does not read it is killed, which listen notices.
func (l *line) tell(o *order, files []*os.File) {
	l.say.Lock()
	defer l.say.Unlock()
	err := l.conn.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		err = send(l.conn, o, files)
	}
	if err != nil {
		l.kill()
	}
}

func (l *line) kill() { _ = l.keeper.Process.Kill() } // It may have ended.

func (p *kept) signal(s syscall.Signal) {
	if !p.over() {
		p.line.tell(&order{Program: p.number, Signal: s}, nil)
	}
}

func (p *kept) renew() {
	if !p.over() {
		p.line.tell(&order{Program: p.number}, nil)
	}
}

func (p *kept) over() bool {
	select {
	case <-p.group.exited:
		return true
	default:
		return false
	}
}

// listen reads the keeper's frames until the keeper dies, and its programs with it.
func (l *line) listen() {
	for {
		var w word
		if _, err := receive(polled{l.conn}, &w); err != nil {
			break
		}
		l.heard(&w)
	}
	l.kill() // Otherwise it would go unnoticed.
	_ = l.keeper.Wait()
	_ = l.conn.Close()
	l.lose()
	close(l.ended)
}

func (l *line) heard(w *word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.kept[w.Program]
	switch {
	case p == nil:
	case w.Ending != nil:
		delete(l.kept, w.Program)
		p.group.ending = *w.Ending
		close(p.group.exited)
	case w.Late:
		delete(l.kept, w.Program)
		p.started <- ErrLate
	case w.Fault != "":
		delete(l.kept, w.Program)
		p.started <- errors.New("start program: " + w.Fault)
	default:
		p.started <- nil
	}
}

// lose ends the programs of a dead keeper: their leaders died with it, other processes are found by their marks.
func (l *line) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	var marks []string
	for _, p := range l.kept { // any order: all are killed.
		marks = append(marks, p.mark)
	}
	if len(marks) > 0 {
		KillMarked(marks...)
	}
	for _, p := range l.kept { // any order: each is notified separately.
		l.drop(p)
	}
}

// drop records that a program has died with its keeper. l.mu is held.
func (l *line) drop(p *kept) {
	delete(l.kept, p.number)
	p.group.ending = Ending{Code: -1, Signal: syscall.SIGKILL, Why: Unkept}
	select {
	case p.started <- errors.New("start program: " + Unkept): // It was not started yet.
	default:
	}
	close(p.group.exited)
}

func (l *line) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// close closes the connection; then the keeper kills its programs and exits. If it does not, it is killed.
func (l *line) close() {
	_ = l.conn.CloseWrite() // It may be dead.
	timer := time.AfterFunc(patience, l.kill)
	<-l.ended
	timer.Stop()
}

// Mark is the variable that identifies the processes of a program: each program has its own value.
const Mark = "JOBGRAPH_WORKSPACE="

// markOf returns the entry of an environment that marks a program; empty if it has none.
func markOf(env []string) string {
	if i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, Mark) }); i >= 0 {
		return env[i]
	}
	return ""
}
