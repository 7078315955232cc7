import type { Readable } from 'node:stream'

/** A complete file on the disk. */
export interface LocalFile {
  readonly path: string
  readonly sizeBytes: number
  /** Lower-case hex; the store refuses content with another hash. */
  readonly sha256: string
}

export interface StoredObject {
  readonly name: string
  readonly modifiedAt: Date
}

/** Stores files elsewhere than in the data folder. Names are flat. */
export interface ObjectStore {
  /** Copies the file, whole or not at all. @throws AppError unavailable. */
  put(name: string, file: LocalFile): Promise<void>
  /** Resolves once the first bytes have arrived; null if there is no such object. @throws AppError unavailable. */
  open(name: string, range: { readonly start: number; readonly end: number }): Promise<Readable | null>
  /** Does nothing for an object that does not exist. @throws AppError unavailable. */
  remove(name: string): Promise<void>
  /** Lists all objects, in pages. @throws AppError unavailable. */
  list(): AsyncIterable<readonly StoredObject[]>
}
