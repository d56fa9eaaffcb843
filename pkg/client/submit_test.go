package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAnOversizeRequestNamesWhatIsTooLarge(t *testing.T) {
	c := connect(t)
	_, err := c.Submit(t.Context(), events.Request{Goal: strings.Repeat("x", 2<<20)})
	var faults events.Faults
	if !errors.As(err, &faults) || faults[0].Code != events.CodeTooLarge || faults[0].Field != "goal" {
		t.Fatalf("got %v", err)
	}
}

func TestABusWithoutRoomIsSaidWithWhatToDo(t *testing.T) {
	c := client.New(bustest.Start(t, bustest.Settings{Quiet: true, MaxStore: 1 << 20}).Bus("client-test"))
	var err error
	for i := 0; err == nil && i < 100; i++ {
		m := events.Message{Subject: c.Names().Request(), Body: []byte(strings.Repeat("x", 100<<10))}
		m.Header = map[string][]string{events.HeaderMsgID: {fmt.Sprint(i)}}
		_, err = c.Bus().Publish(t.Context(), m, bus.Expect{})
	}
	_, err = c.Submit(t.Context(), events.Request{Goal: strings.Repeat("x", 300<<10)})
	var fault *events.Fault
	if !errors.Is(err, bus.ErrFull) || !errors.As(err, &fault) || fault.Code != events.CodeUnavailable || fault.Hint == "" {
		t.Fatalf("got %v", err)
	}
}

func TestWhatIsNoFactOfTheLogIsNotExported(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	stranger := events.Message{Subject: strings.TrimSuffix(c.Names().JobEvents("j1"), ">") + "weird", Body: []byte("\xff")}
	musttest.Get(c.Bus().Publish(t.Context(), stranger, bus.Expect{}))(t)
	state(t, c, finished("j1"))
	x := musttest.Get(c.Archive().Export(t.Context(), "j1", time.Unix(0, 0)))(t)
	if len(x.Records) != 2 {
		t.Errorf("%d records", len(x.Records))
	}
	if err := x.Write(new(strings.Builder)); err != nil {
		t.Error(err)
	}
}
