package llm_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// A model answers in a form, in the strongest way that it knows; here it refuses the strongest one.
func Example() {
	script := &llmtest.Script{Rules: []llmtest.Rule{
		{When: llmtest.When{Form: "json_schema"}, Answer: llmtest.Answer{Status: 400, Error: "response_format is not supported"}},
		{When: llmtest.When{Form: "json_object"}, Answer: llmtest.Answer{Text: `{"title":"Spring"}`}},
	}}
	config := llm.Config{"default": {Model: "some-model", BaseURL: "http://localhost:8000/v1"}}
	models, err := llm.New(config, llm.Settings{Doer: llmtest.New(script)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer models.Close()
	answer, err := models.Do(context.Background(), llm.Request{
		Messages: []llm.Message{llm.User("Name a season.")},
		Schema:   &llm.Schema{Name: "season", Schema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}}}`)},
	}, nil)
	fmt.Println(answer.Text, answer.Rung, answer.Attempts, err)
	// Output: {"title":"Spring"} json_object 2 <nil>
}

// A failure has a class, says when to try again, and maps to the code in events.
func ExampleFault() {
	busy := llmtest.Answer{Status: 429, Error: "slow down", Header: map[string]string{"Retry-After": "3600"}}
	models, err := llm.New(llm.Config{"default": {}}, llm.Settings{Doer: llmtest.New(llmtest.Say(busy))})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = models.Do(context.Background(), llm.Request{Messages: []llm.Message{llm.User("Hello")}}, nil)
	fault := llm.Fault(err)
	fmt.Println(llm.ClassOf(err), fault.Code, fault.Message)
	// Output: rate_limited unavailable model default: rate limited (status 429); retry after 1h0m0s
}
