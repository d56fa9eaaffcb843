package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// modelBound limits how long running answers may take after the scripted model was asked to end.
const modelBound = 2 * time.Second

func (g operations) modelCommand() *cobra.Command {
	return group("model", "Try a model, or serve a scripted one", g.modelCheckCommand(), g.modelServeCommand())
}

func (g operations) modelServeCommand() *cobra.Command {
	var listen, script string
	c := &cobra.Command{
		Use: "serve", Short: "Serve a scripted model that speaks the APIs of OpenAI, Anthropic and Gemini", Args: cobra.NoArgs,
		Long: "Serve answers /v1/chat/completions, /v1/responses, /v1/messages (Anthropic), /v1beta/models/NAME:generateContent and\n" +
			":streamGenerateContent (Gemini), and /v1/models. Without a script it plans any goal as one step; a script is YAML or JSON:\n" +
			"{answers: [{when: {contains: [TEXT]}, text: ANSWER}, …]}, the same for every API, and can also play slow answers, errors and\n" +
			"cut streams. Use it with OPENAI_BASE_URL=http://ADDRESS/v1, or with api: anthropic or api: gemini and base_url: http://ADDRESS\n" +
			"in the configuration file.",
		RunE: func(*cobra.Command, []string) error { return g.serveModel(listen, script) },
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on, HOST:PORT; port 0 picks a free one")
	c.Flags().StringVar(&script, "script", "", "file with the answers")
	return c
}

// serveModel serves until a signal ends it.
func (g operations) serveModel(listen, file string) error {
	responder, err := readScript(file)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(g.app.soft, "tcp", listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	server := &http.Server{Handler: llmtest.NewUnrecorded(responder), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // Ended by Shutdown, waited for below.
	if err := g.app.printf("http://%s/v1\n", listener.Addr()); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve the model: %w", err)
	case <-g.app.soft.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.app.soft), modelBound)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // Closes the connections that are still open.
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the model: %w", err)
	}
	return nil
}

func readScript(file string) (llmtest.Responder, error) {
	if file == "" {
		return llmtest.Planner{}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usageError{fmt.Errorf("--script: %w", err)}
	}
	defer f.Close()
	script, err := llmtest.ReadScript(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("--script %s: %w", file, err)}
	}
	script.Else = llmtest.Planner{}
	return script, nil
}
