package musttest

import "time"

// Patience is how long a test waits in real time for something that has to happen. It is far above what that ever takes on a busy
// machine: it only decides how late a hang is found.
const Patience = 10 * time.Minute
