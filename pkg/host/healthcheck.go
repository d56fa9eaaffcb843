package host

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// CheckHealth asks the process that listens on addr whether it is ready, within three seconds; the error says why not. It implements the
// subcommand healthcheck, for images without curl. An address of all interfaces means this machine; secure makes it ask over TLS.
func CheckHealth(ctx context.Context, addr string, secure bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return Faults{{
			Code: events.CodeInvalid, Field: "http-addr", Message: fmt.Sprintf("%q is no address that can be asked", addr),
			Hint: "give the service and its health check the same fixed port by JOBGRAPH_HTTP_ADDR",
		}}
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout+time.Second)
	defer cancel()
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", addr, err)
	}
	// No proxy: the process is local. Its certificate is for other names than the address by which it asks itself.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", addr, err)
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return notReady(response)
}

func notReady(response *http.Response) error {
	var answer readiness
	body := io.LimitReader(response.Body, 1<<20)
	if err := json.NewDecoder(body).Decode(&answer); err != nil || len(answer.Reasons) == 0 {
		return fmt.Errorf("not ready: %s", response.Status)
	}
	reasons := make([]string, len(answer.Reasons))
	for i, reason := range answer.Reasons {
		reasons[i] = reason.Name + ": " + reason.Reason
	}
	return fmt.Errorf("not ready: %s", strings.Join(reasons, "; "))
}
