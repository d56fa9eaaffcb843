package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends one call and returns the answer.
func ask(t *testing.T, h http.Handler, method, params string) string {
	t.Helper()
	w := httptest.NewRecorder()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/a2a", strings.NewReader(body)))
	var flat bytes.Buffer
	if err := json.Compact(&flat, w.Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	return flat.String()
}

func TestTheTellerCountsAndAsksForWhatItLacks(t *testing.T) {
	h := &teller{tasks: map[string]*task{}}
	if got := ask(t, h, "SendMessage", `{"message":{"messageId":"m","parts":[{"data":{"inputs":{"text":"a b\nc"}}}]}}`); !strings.Contains(got, `"TASK_STATE_COMPLETED"`) || !strings.Contains(got, `{"lines":2,"words":3}`) {
		t.Error(got)
	}
	got := ask(t, h, "SendMessage", `{"message":{"messageId":"m","parts":[{"text":"Count it"}]}}`)
	_, rest, asked := strings.Cut(got, `"TASK_STATE_INPUT_REQUIRED"`)
	if !asked || !strings.Contains(rest, "Which text") {
		t.Fatal(got)
	}
	var answer struct {
		Result struct {
			Task task `json:"task"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatal(err)
	}
	id := answer.Result.Task.ID
	if got := ask(t, h, "SendMessage", `{"message":{"messageId":"n","taskId":"`+id+`","parts":[{"text":"one two"}]}}`); !strings.Contains(got, `{"lines":1,"words":2}`) || !strings.Contains(got, id) {
		t.Error(got)
	}
	if got := ask(t, h, "GetTask", `{"id":"`+id+`"}`); !strings.Contains(got, `"TASK_STATE_COMPLETED"`) {
		t.Error(got)
	}
	if got := ask(t, h, "CancelTask", `{"id":"`+id+`"}`); !strings.Contains(got, `"TASK_STATE_CANCELED"`) {
		t.Error(got)
	}
}

func TestTheTellerSaysNoInTheWordsOfJSONRPC(t *testing.T) {
	h := &teller{tasks: map[string]*task{}}
	for call, code := range map[string]string{"GetTask": "-32001", "Dance": "-32601"} {
		if got := ask(t, h, call, `{"id":"none"}`); !strings.Contains(got, code) {
			t.Errorf("%s: %s", call, got)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/a2a", strings.NewReader("no JSON")))
	if !strings.Contains(w.Body.String(), "-32700") {
		t.Error(w.Body)
	}
}
