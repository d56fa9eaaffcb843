package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// order is a frame from the runner to its keeper about the program with a number. With a path it starts the program, with the
// attached files as its descriptors; with a signal it sends the signal; otherwise it renews the program.
type order struct {
	Program int                    `json:"program"`
	Path    string                 `json:"path,omitempty"`
	Args    []string               `json:"args,omitempty"`
	Env     []string               `json:"env,omitempty"`
	Dir     string                 `json:"dir,omitempty"`
	Clone   uintptr                `json:"clone,omitempty"`
	Users   []syscall.SysProcIDMap `json:"users,omitempty"`
	Groups  []syscall.SysProcIDMap `json:"groups,omitempty"`
	Ambient []uintptr              `json:"ambient,omitempty"`
	Signal  syscall.Signal         `json:"signal,omitempty"`
	// Until is the time after which the program must not be started; 0 for no limit.
	Until Moment `json:"until,omitempty"`
}

// word is a frame from the keeper: a program was started, or why it was not, or how it ended.
type word struct {
	Program int     `json:"program"`
	Fault   string  `json:"fault,omitempty"`
	Late    bool    `json:"late,omitempty"` // It was not started because its time had passed.
	Ending  *Ending `json:"ending,omitempty"`
}

// mostFiles bounds the descriptors of a frame.
const mostFiles = 32

// headLength is the length of the frame header.
const headLength = 4

// frame encodes one message.
func frame(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write frame: %w", err)
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, headLength+len(body)), uint32(len(body))), body...), nil
}

// send writes a frame with its attached files.
func send(c *net.UnixConn, v any, files []*os.File) error {
	text, err := frame(v)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(text, rights, nil)
	if err == nil && n < len(text) {
		_, err = c.Write(text[n:])
	}
	if err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// source is a connection from which frames and the descriptors attached to them are read.
type source interface {
	read(text, rights []byte) (n, taken int, err error)
}

// polled is a connection in the runtime's poller; blocking is one that blocks a thread.
type (
	polled   struct{ *net.UnixConn }
	blocking int
)

func (p polled) read(text, rights []byte) (n, taken int, err error) {
	n, taken, _, _, err = p.ReadMsgUnix(text, rights)
	return n, taken, err
}

func (b blocking) read(text, rights []byte) (n, taken int, err error) {
	for {
		n, taken, _, _, err = unix.Recvmsg(int(b), text, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, taken, err
		}
	}
}

// receive reads a frame. The caller owns the received descriptors, also with an error.
func receive(from source, v any) (fds []int, err error) {
	head, rights := make([]byte, headLength), make([]byte, unix.CmsgSpace(mostFiles*4))
	n, taken, err := from.read(head, rights)
	if err != nil {
		return nil, err
	}
	if fds, err = descriptors(rights[:taken]); err != nil {
		return fds, err
	}
	if n == 0 {
		return fds, io.EOF
	}
	if err := fill(from, head[n:]); err != nil {
		return fds, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head))
	if err := fill(from, body); err != nil {
		return fds, err
	}
	return fds, json.Unmarshal(body, v)
}

func fill(from source, text []byte) error {
	for len(text) > 0 {
		n, _, err := from.read(text, nil)
		switch {
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		text = text[n:]
	}
	return nil
}

func descriptors(rights []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	for i := range messages {
		more, bad := unix.ParseUnixRights(&messages[i])
		fds, err = append(fds, more...), errors.Join(err, bad)
	}
	return fds, err
}
