export type ImageType = 'image/png' | 'image/jpeg'

/** The job of the process, its only argument in JSON. */
export interface DecoderJob {
  /** Path of the stripped picture. */
  readonly path: string
  /** Null only checks that it can be decoded to its last line. */
  readonly shrink: Shrink | null
  readonly memoryBytes: number
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
