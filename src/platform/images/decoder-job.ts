export type ImageType = 'image/png' | 'image/jpeg'

/** The job of the process, its only argument in JSON. */
export interface DecoderJob {
  /** Path of the stripped picture. */
  readonly path: string
  /** Null only checks that it can be decoded to its last line. */
  readonly shrink: Shrink | null
  readonly memoryBytes: number
  readonly cpuMs: number
}

/** A copy with sides of at most `side`, without data that is not needed to show it. */
export interface Shrink {
  /** Path of the copy, which has the same type. */
  readonly path: string
  readonly side: number
}

/** The process's answer, in JSON. */
export type DecoderAnswer =
  /** `why` is a predicate whose subject is the picture. */
  { readonly kind: 'refused'; readonly why: string } | ({ readonly kind: 'decoded' } & Decoded)

export interface Decoded {
  readonly contentType: ImageType
  /** As shown: rotated if the camera has marked the photo so. Those of the copy if one was made. */
  readonly width: number
  readonly height: number
  /** Size of the copy; 0 if none was made. */
  readonly copyBytes: number
}

/** A message to the process that starts decoders. */
export interface DecoderStart {
  readonly id: number
  readonly job: DecoderJob
  /** Then it is killed. */
  readonly withinMs: number
}

/** Its message when the decoder has ended. */
export interface DecoderEnd {
  readonly id: number
  /** The standard output: a DecoderAnswer in JSON if nothing failed. */
  readonly output: string
  readonly failure: {
    readonly message: string
    /** True if it had not ended in time. */
    readonly killed: boolean
    /** Null if a signal ended it, or it could not be started. */
    readonly code: number | null
    readonly signal: string | null
  } | null
}
