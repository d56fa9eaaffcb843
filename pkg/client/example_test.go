package client_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/nats-io/nats-server/v2/server"
)

// embedded is a bus for the examples. Your own program passes bus.Options{URL: "nats://…"} to client.Connect instead.
func embedded() (o bus.Options, stop func(), err error) {
	store, err := os.MkdirTemp("", "jobgraph-example-")
	if err != nil {
		return o, nil, err
	}
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: store, NoLog: true, NoSigs: true})
	if err != nil {
		return o, nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return o, nil, fmt.Errorf("the server is not ready")
	}
	return bus.Options{InProcess: s}, func() {
		s.Shutdown()
		s.WaitForShutdown()
		_ = os.RemoveAll(store)
	}, nil
}

// A job is submitted, and its events are followed as they come. The example plays the scheduler.
func ExampleClient_Watch() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, stop, err := embedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	c, err := client.Connect(ctx, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Bus().Streams().Init(ctx); err != nil { // `jobgraph init` and `jobgraph up` do it too.
		fmt.Println(err)
		return
	}
	id, err := c.Submit(ctx, events.Request{ID: "greeting", Goal: "Say hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	played := []events.Event{
		{Kind: events.KindJobRequested, Job: id, Data: &events.JobRequested{Request: events.Request{Goal: "Say hello"}}},
		{Kind: events.KindJobFinished, Job: id, Data: &events.JobEnded{Result: []byte(`"hello"`)}},
	}
	for _, e := range played {
		m, err := events.Encode(c.Names(), e)
		if err == nil {
			_, err = c.Bus().Publish(ctx, m, bus.ExpectNone())
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for e, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Job, e.Kind)
		if ended, ok := client.Ended(e); ok {
			fmt.Println(string(ended.Result))
			break
		}
	}
	// Output:
	// greeting job.requested
	// greeting job.finished
	// "hello"
}
