/** Limits for decoding one picture; beyond them it is refused. */
export interface DecodeLimits {
  /** Resident memory of the process that decodes it, of which Node and the decoder take 70 MiB. */
  readonly memoryBytes: number
  /** Processor time of that process. */
  readonly cpuMs: number
  /** From its start to its end. It yields to all other work, so on a busy machine this may be many times its processor time. */
  readonly withinMs: number
}

export const DEFAULT_DECODE_LIMITS: DecodeLimits = {
  memoryBytes: 512 * 1024 * 1024,
  cpuMs: 30_000,
  withinMs: 300_000,
}

/** A plan of A0 at 150 dpi has 35 million. */
export const MAX_PIXELS = 50_000_000

/** Exit code of a process that has found itself larger than allowed. */
export const TOO_LARGE_EXIT_CODE = 75
/** The same if it has used more processor time. */
export const TOO_SLOW_EXIT_CODE = 76
