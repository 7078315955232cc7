export type ImageType = 'image/png' | 'image/jpeg'

/** What the process is to do, as its one argument in JSON. */
export interface DecoderJob {
  /** Of the picture, stripped. */
  readonly path: string
  /** Null only looks whether it can be decoded to its last line. */
  readonly shrink: Shrink | null
  readonly memoryBytes: number
}

/** A copy with sides of at most `side`, without what is not needed to show it. */
export interface Shrink {
  /** Of the copy; it is a file of the same type. */
  readonly path: string
  readonly side: number
}

/** What the process says at its end, in JSON. */
export type DecoderAnswer =
  /** `why`: a predicate of which the picture is the subject. */
  { readonly kind: 'refused'; readonly why: string } | ({ readonly kind: 'decoded' } & Decoded)

export interface Decoded {
  readonly contentType: ImageType
  /** As it is shown: a photo that its camera has marked as turned is turned. Those of the copy where one was made. */
  readonly width: number
  readonly height: number
  /** Of the copy; 0 where none was made. */
  readonly copyBytes: number
}
