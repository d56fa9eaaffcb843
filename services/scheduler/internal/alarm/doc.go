// Package alarm keeps timers with the broker: it fires them, this process may be gone. A timer that is due comes back as
// timer.fired in the log of its job. There is no clock and no polling here.
package alarm
