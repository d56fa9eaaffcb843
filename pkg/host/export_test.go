package host

import (
	"crypto/tls"
	"time"
)

// Configured reads the files of a TLS by the test's clock.
func Configured(t TLS, now func() time.Time) (current func() (*tls.Config, error), err error) {
	c, err := openTLS(t)
	if err != nil {
		return nil, err
	}
	c.now = now
	return func() (*tls.Config, error) { return c.current(nil) }, nil
}
