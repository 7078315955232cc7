import { statfs } from 'node:fs/promises'
import { AppError } from '../errors.ts'

export interface DiskState {
  readonly freeBytes: number
  /** The space that is reserved for the database. */
  readonly reserveBytes: number
}

/** The disk that uploads share with the database; one for the whole server. */
export interface DiskSpace {
  readonly getState: () => Promise<DiskState>
  /** Counts bytes that are about to be written, or (negative) that have been written or will not be. */
  expect(bytes: number): void
  /** @throws AppError unavailable if the expected bytes would not leave the reserve free. */
  assertRoom(): Promise<void>
}

/** @param dir A folder on the disk; it need not exist before the first check. */
export function createDiskSpace(dir: string, reserveBytes: number): DiskSpace {
  let expectedBytes = 0
  const getState = async (): Promise<DiskState> => {
    const { bavail, bsize } = await statfs(dir)
    return { freeBytes: bavail * bsize, reserveBytes }
  }
  return {
    getState,
    expect(bytes) {
      expectedBytes += bytes
    },
    async assertRoom() {
      const { freeBytes } = await getState()
      if (freeBytes - expectedBytes >= reserveBytes) return
      throw new AppError(
        'unavailable',
        `The upload can't be stored: the disk has ${freeBytes} bytes free, uploads under way need ${expectedBytes}, and ${reserveBytes} are kept in reserve (SIGNALBOX_DISK_RESERVE_MB)`,
      )
    },
  }
}
