package bench

import "time"

// Conditions say how a trial runs.
type Conditions struct {
	// Mode is embedded (one process, no socket) or services (the server and each part in its own process, over TCP).
	Mode string `json:"mode"`
	// Sync is default (the server syncs every two minutes) or always (before each acknowledgement).
	Sync string `json:"sync"`
}

// The values of the fields of Conditions.
const (
	ModeEmbedded = "embedded"
	ModeServices = "services"
	SyncDefault  = "default"
	SyncAlways   = "always"
)

// Sample is what one trial measured.
type Sample struct {
	// Side is the side that ran, such as SideFloor.
	Side string `json:"side"`
	// SubJobs is the number of SubJobs; Seconds is the time from the first submission to the end of the last job, as seen
	// by the client.
	SubJobs int     `json:"subjobs"`
	Seconds float64 `json:"seconds"`
	// PerSecond is SubJobs per second.
	PerSecond float64 `json:"subjobs_per_second"`
	// LoopPerSecond is SubJobs per second between the start of the first and the start of the last, without submission,
	// planning and end.
	LoopPerSecond float64 `json:"loop_subjobs_per_second"`
	// HopP50MS and HopP99MS are quantiles of the time from the completion of the last predecessor to the start, in
	// milliseconds.
	HopP50MS float64 `json:"hop_p50_ms"`
	HopP99MS float64 `json:"hop_p99_ms"`
	// CPUPer1000 is processor time of all processes in seconds per 1,000 SubJobs.
	CPUPer1000 float64 `json:"cpu_seconds_per_1000"`
	// PeakBytes is the sum of the peaks of resident memory of all processes.
	PeakBytes int64 `json:"peak_bytes"`
	// DiskPerSubJob is the growth of the store per SubJob, in bytes.
	DiskPerSubJob float64 `json:"disk_bytes_per_subjob"`
	// AwaitedWrites is the number of stored messages per SubJob between a completion and the next start; Writes is the
	// number of all stored messages per SubJob.
	AwaitedWrites float64 `json:"awaited_writes_per_subjob"`
	Writes        float64 `json:"writes_per_subjob"`
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
