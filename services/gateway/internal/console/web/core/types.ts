// The shapes of the API that the console reads; docs/http.md and /openapi.json describe them. Fields that are missing here are not read.

export type State = "planned" | "ready" | "running" | "waiting" | "finished" | "failed" | "stopped" | "skipped" | "replaced";

export interface Fault { code: string; message: string; field?: string; cause?: string; hint?: string; }

export interface Node {
  id: string; status?: string; state: State; title?: string; expert?: string; pool?: string; run?: number; dependencies?: string[];
  x: number; y: number; w: number; h: number; rank?: number; group?: string;
  owner?: string; ready_at?: string; started?: string; ended?: string; attempt?: number; attempts?: number;
  tokens?: number; cost_usd?: number; lessons?: number; artifacts?: number; request?: string; wait_until?: string; reason?: string;
  rate?: number; // Tokens per second, from the live items; set by the page.
  asked?: string; // The only user who may answer what it waits for; set by the page.
  progress?: { message?: string; done?: number; total?: number }; version?: number; replaced_in?: number; replaced_by?: string[];
}

export type Edge = number[]; // From, to (positions in subjobs), then the bends: x, y, x, y …

export interface Version { plan_version: number; seq: number; time: string; total: number; by?: string; added?: string[]; removed?: string[]; }

export interface Open { request: string; subjob: string; kind: string; user?: string; expires?: string; }

export interface Graph {
  job_id: string; status: string; title?: string; goal?: string; user?: string; seq: number; time: string; head: number; created: string; ended?: string;
  plan_version: number; width: number; height: number; subjobs: Node[]; edges: Edge[]; planning?: Node; finalizing?: Node; replaced?: Node[];
  counts?: Record<string, number>; cost?: { tokens?: number; cost_usd?: number }; versions?: Version[]; questions?: Open[]; partial?: boolean;
}

export interface Layout { seq: number; plan_version: number; width: number; height: number; subjobs: Node[]; edges: Edge[]; }

export interface Run {
  subjob: string; run: number; queued?: number; started?: number; ended?: number; outcome?: string; owner?: string; tokens?: number; cost_usd?: number; seq?: number;
}

export interface TimedCall { subjob: string; run: number; name: string; model?: string; begun: number; took_ms?: number; outcome: string; tokens?: number; cost_usd?: number; }

export interface Timeline {
  job_id: string; status: string; seq: number; time: string; created: string; ended?: string; goal?: string; title?: string;
  ids: string[]; events: [number, number, string][]; layouts: Layout[]; moves: [number, number, State, number][];
  status_moves: [number, string][]; runs: Run[]; calls?: TimedCall[];
}

export interface Fact { seq: number; time: string; kind: string; subjob?: string; run?: number; data?: any; source?: string; id?: string; fault?: Fault; raw?: string; }

export interface Item {
  seq?: number; type: string; id: string; at?: string; job?: string; subjob?: string; run?: number; expert?: string; text?: string; offset?: number; done?: boolean;
  tool?: string; args?: any; bytes?: number; outcome?: string; took_ms?: number; truncated?: number; data?: any; component?: string; seam?: any; request?: string; user?: string; ref?: any;
}

export interface JobLine {
  id: string; status: string; goal?: string; title?: string; session?: string; user?: string; labels?: Record<string, string>;
  created?: string; changed?: string; ended?: string; progress?: { done: number; total: number }; outcome?: string; quarantined?: Fault;
  cost?: { tokens?: number; cost_usd?: number };
}

export interface Question {
  job_id: string; request: string; subjob: string; kind: string; prompt?: string; options?: string[]; schema?: any; user?: string; expires?: string;
  open?: boolean; args?: unknown;
}

export interface Action {
  verb: string; about: string; effect: string; permitted: boolean; possible: boolean; reason?: string; method: string; path: string; input: any; cli: string; nats?: string;
}

export interface Call {
  run: number; key: string; name: string; args?: any; args_truncated?: boolean; args_size?: number; outcome: string; reason?: string; begun?: number; model?: string;
  tokens?: number; cost_usd?: number; asked?: string; took_ms?: number; answer?: any; answer_size?: number; answer_truncated?: boolean; answer_href?: string;
}

export interface File { digest: string; size: number; name: string; media_type?: string; subjob?: string; run?: number; href?: string; preview?: string; }

export interface Step {
  job_id: string; state: any; spec: any; output?: any; output_ref?: any; artifacts?: File[]; lessons?: string[]; calls?: Call[] | null;
  inputs?: { subjob: string; output?: any; size?: number; truncated?: boolean; skipped?: boolean }[]; brief?: any; log?: string; log_size?: number; why?: Blocker[];
  runs?: { run: number; owner?: string; started?: string; ended?: string; outcome?: string; lesson?: string; error?: Fault; tokens?: number; cost_usd?: number; seq?: number }[];
  actions?: Action[];
}

export interface Blocker { subjob?: string; code: string; message: string; unblock?: string; }

export interface Me { user?: string; name: string; roles: string[]; verbs: string[]; own?: string[]; version: string; }
