package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
)

// Sessions are read from their bucket. The scheduler, which writes them, is played by the example.
func ExampleClient_Sessions() {
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
	if err := c.Bus().Streams().Init(ctx); err != nil {
		fmt.Println(err)
		return
	}
	record := `{"id":"peru","user":"ann","title":"Peru","state":"active","total":1,"jobs":[{"id":"j1","goal":"What is its capital?","status":"FINISHED"}]}`
	if _, err := c.Bus().Sessions().Put(ctx, "peru", []byte(record), 0); err != nil {
		fmt.Println(err)
		return
	}
	list, err := c.Sessions().List(ctx, client.SessionQuery{User: "ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range list {
		fmt.Println(s.ID, s.State, s.Title, s.Jobs[0].Goal)
	}
	// Output: peru active Peru What is its capital?
}
