// Package momenttest is a test oracle for due times: it steps through time minute by minute. For tests only.
package momenttest
