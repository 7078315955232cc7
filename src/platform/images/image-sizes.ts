import type { Reader, Tx } from '../database/db.ts'

export interface ImageSize {
  readonly name: string
  readonly bytes: number
}

/** Records the sizes of a noun's pictures that were stored before sizes were recorded. */
export interface ImageSizes {
  /** Lists the names of the files of unknown size. */
  readonly listUnmeasured: (reader: Reader) => Promise<string[]>
  /** Skips names that are not pictures of the noun. */
  readonly update: (tx: Tx, sizes: readonly ImageSize[]) => Promise<void>
}
