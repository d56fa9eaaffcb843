package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// The programs of a campaign.
const (
	natsServer = "server"
	scheduler  = "scheduler"
	planner    = "planner"
	runner     = "expert-runner"
)

// perRole is the number of processes of each service.
const perRole = 2

// fleet is all processes of a campaign.
type fleet struct {
	Settings
	dir, url string
	list     []*process
	quick    *quickServer // Only in a campaign with a rolling upgrade.
	boxes    bool         // Some programs run at sandbox level landlock.
}

// process is a process that is restarted whenever it was ended.
type process struct {
	name, program string
	path          string
	args, env     []string
	order         *ServerOrder // For a server: its last argument.
	log           *os.File

	mu      sync.Mutex // Guards the fields below.
	cmd     *exec.Cmd
	ended   chan struct{} // Closed when cmd has ended.
	why     error         // The error with which it ended.
	stopped bool          // Suspended by SIGSTOP.
	away    bool          // Ended on purpose, and not restarted yet.
	full    bool          // A server without disk space: no other fault strikes it.
}

// path is the PATH of services and programs.
const path = "/usr/local/bin:/usr/bin:/bin"

// farewell limits the time in which a process ends by itself.
const farewell = 15 * time.Second

// begin writes the cards and starts everything.
func (f *fleet) begin(ctx context.Context) error {
	f.boxes = landlocked()
	if err := writeCards(f.dir, f.boxes); err != nil {
		return err
	}
	if f.Rolling {
		if err := f.beginQuick(); err != nil {
			return err
		}
	}
	if err := f.servers(); err != nil {
		return err
	}
	for _, p := range f.list {
		if err := p.start(); err != nil {
			return err
		}
	}
	if err := f.prepare(ctx); err != nil {
		return err
	}
	for i := range perRole {
		for _, program := range []string{scheduler, planner, runner} {
			dir := f.Programs
			if f.Rolling || f.Other != "" && i%2 == 1 {
				dir = f.Other
			}
			p, err := f.service(ctx, fmt.Sprintf("%s-%d", program, i+1), program, dir)
			if err != nil {
				return err
			}
			if err := p.start(); err != nil {
				return err
			}
		}
	}
	return f.beginWorker()
}

// beginQuick starts the server behind the quick expert.
func (f *fleet) beginQuick() (err error) {
	if f.quick, err = startQuick(filepath.Join(f.dir, "marks")); err != nil {
		return err
	}
	return writeQuickCards(f.dir, f.quick.listener.Addr().String(), f.Worker != "")
}

// beginWorker starts the third-party worker, if there is one.
func (f *fleet) beginWorker() error {
	command := strings.Fields(f.Worker)
	if len(command) == 0 {
		return nil
	}
	p, err := f.add(&process{
		name: foreign, program: foreign, path: command[0], args: append(command[1:], foreign), env: []string{"NATS_URL=" + f.url, "PATH=" + path, "HOME=" + f.dir},
	})
	if err != nil {
		return err
	}
	return p.start()
}

func (f *fleet) add(p *process) (*process, error) {
	log, err := os.Create(filepath.Join(f.dir, p.name+".log"))
	if err != nil {
		return nil, err
	}
	p.log = log
	f.list = append(f.list, p)
	return p, nil
}

// service returns one of our services, with a lease that most faults outlast.
func (f *fleet) service(ctx context.Context, name, program, dir string) (*process, error) {
	p := &process{
		name: name, program: program,
		env: []string{
			"NATS_URL=" + f.url, "HOME=" + f.dir, "PATH=" + path, "TMPDIR=" + f.dir, "JOBGRAPH_HTTP_ADDR=off",
			"JOBGRAPH_DRAIN_TIMEOUT=3s",
		},
	}
	variables, err := f.role(program)
	if err != nil {
		return nil, err
	}
	p.env = append(p.env, variables...)
	if err := f.equip(ctx, p, dir); err != nil {
		return nil, err
	}
	return f.add(p)
}

// equip switches a service to a release, with the flags that this release knows.
func (f *fleet) equip(ctx context.Context, p *process, dir string) error {
	p.path = filepath.Join(dir, p.program)
	switch p.program {
	case scheduler:
		p.args = []string{"--lease", lease.String(), "--lease-margin", "500ms"}
	case runner:
		p.args = []string{"--experts", filepath.Join(f.dir, "cards"), "--work-dir", filepath.Join(f.dir, "work"), "--kill-grace", "200ms"}
		help, err := exec.CommandContext(ctx, p.path, "--help").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ask %s for its flags: %w", p.path, err)
		}
		if orphans := "--orphan-after"; strings.Contains(string(help), orphans) {
			p.args = append(p.args, orphans, orphanAfter.String())
		}
	}
	return nil
}

// servers adds one server, or a cluster of three.
func (f *fleet) servers() error {
	var urls, routes []string
	orders := make([]ServerOrder, f.Servers)
	for i := range orders {
		client, err := freePort()
		if err != nil {
			return err
		}
		peer, err := freePort()
		if err != nil {
			return err
		}
		orders[i] = ServerOrder{Name: fmt.Sprintf("server-%d", i+1), Port: client, Store: filepath.Join(f.dir, "store", fmt.Sprint(i+1)), Accounts: f.accounts()}
		if f.Servers > 1 {
			orders[i].Peer = peer
			routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", peer))
		}
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", client))
	}
	f.url = strings.Join(urls, ",")
	for _, o := range orders {
		o.Routes = routes
		text, err := o.text()
		if err != nil {
			return err
		}
		p := &process{name: o.Name, program: natsServer, path: f.Self[0], args: append(append([]string(nil), f.Self[1:]...), text), order: &o}
		if _, err := f.add(p); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates streams and buckets, with as many replicas as there are servers.
func (f *fleet) prepare(ctx context.Context) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Replicas = f.Servers
	b, err := bus.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return b.Streams().Prepare(ctx)
}

func (f *fleet) connect(ctx context.Context) (*client.Client, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	return client.Connect(ctx, o)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// start starts the process in its own process group.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.CommandContext(context.Background(), p.path, p.args...) // Only signals end it.
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.log, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	go func() { // Ends with the process.
		why := cmd.Wait()
		p.mu.Lock()
		p.why = why
		p.mu.Unlock()
		close(ended)
	}()
	p.cmd, p.ended, p.stopped, p.away = cmd, ended, false, false
	return nil
}

// strike sends a signal. It returns false if the process is already down or suspended.
func (p *process) strike(s syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away || p.stopped || p.full || p.cmd == nil {
		return false
	}
	p.stopped, p.away = s == syscall.SIGSTOP, s != syscall.SIGSTOP
	_ = p.cmd.Process.Signal(s) // It may have ended by itself; it is restarted in any case.
	return true
}

// wake resumes a suspended process.
func (p *process) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = false
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // It may have ended.
}

// gone waits for the end of the process, and kills it if that takes too long.
func (p *process) gone() {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-ended:
		return
	case <-late.C:
	}
	_ = cmd.Process.Kill() // It may have ended in the meantime.
	<-ended
}

// failure returns why the process did not end regularly when it was asked to; nil if it did.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// alive reports whether the process is running.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end ends all processes, the servers last.
func (f *fleet) end() error {
	var errs []error
	for i := len(f.list) - 1; i >= 0; i-- {
		p := f.list[i]
		if p.cmd != nil {
			p.wake()
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // It may have ended.
			p.gone()
		}
		errs = append(errs, p.log.Close())
	}
	if f.quick != nil {
		errs = append(errs, f.quick.close())
	}
	return errors.Join(errs...)
}
