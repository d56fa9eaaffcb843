// Package momenttest is an oracle for moments: a clock on a wall that is watched minute by minute. For tests only.
package momenttest
