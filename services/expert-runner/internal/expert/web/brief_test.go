package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
)

// Only a placeholder or a body that names the user sends the user. Nothing else says for whom the work is done.
func TestForWhomTheWorkIsDoneIsSentAsFarAsTheCardNamesIt(t *testing.T) {
	var path string
	var body []byte
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `1`)
	})
	for name, test := range map[string]struct {
		config web.Config
		path   string
		has    []string
		lacks  []string
	}{
		"nothing":       {web.Config{URL: at + "/x"}, "/x", []string{`"goal":"the request"`}, []string{"ann", "harbour"}},
		"a placeholder": {web.Config{URL: at + "/of/{user}"}, "/of/ann", []string{`"goal":"the request"`}, []string{"ann", "harbour"}},
		"the body":      {web.Config{URL: at + "/x", Body: "user"}, "/x", []string{`"ann"`}, []string{"harbour", "the request"}},
		"the brief":     {web.Config{URL: at + "/x", Body: "brief"}, "/x", []string{`{"v":1`, "the request"}, []string{"ann", "harbour", "Pay"}},
		"shared":        {web.Config{URL: at + "/x", Share: []string{"session"}}, "/x", []string{"harbour"}, []string{"ann"}},
	} {
		x := musttest.Get(web.New(test.config))(t)
		w := work()
		w.User, w.Session, w.Brief = "ann", "harbour", json.RawMessage(`{"v":1,"job":"j1","request":{"goal":"the request"},"user":"ann","session":"harbour"}`)
		if e := x.Run(t.Context(), &expert.Task{Work: w, Hand: &hand{}}); e.Report == nil || e.Report.Error != nil || path != test.path {
			t.Errorf("%s: %+v at %s", name, e.Report, path)
		}
		for _, want := range test.has {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: no %s in %s", name, want, body)
			}
		}
		for _, secret := range test.lacks {
			if strings.Contains(string(body), secret) {
				t.Errorf("%s: %s is in %s", name, secret, body)
			}
		}
	}
}
