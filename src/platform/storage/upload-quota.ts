import { type AppError, invalidField } from '../errors.ts'
import { limitConcurrency } from '../queues/limit-concurrency.ts'
import type { DiskSpace } from './disk-space.ts'
import type { StorageUsage } from './store-usage.ts'
import { type UploadPace, createUploadPace } from './upload-pace.ts'

/** Limits for the files of one kind; see createUploadQuota(). */
export interface UploadQuota {
  /**
   * Reserves room for an upload before it is received.
   * @throws AppError invalid if the organization has no room for it; unavailable if the server has none;
   *   rate_limited.
   */
  reserve(upload: NewUpload): Promise<Reservation>
  /** Waits while the organization uploads too fast, for bytes that are not stored. */
  pace(orgId: string, bytes: number): Promise<void>
}

export interface NewUpload {
  /** The organization of the quota and the pace; null if neither applies, because the file is discarded in any case. */
  readonly orgId: string | null
  /** The length that the client declares. Without one, room is reserved while the upload is received. */
  readonly declaredBytes?: number | undefined
  /** Bytes of the file that this one replaces; default 0. A smaller file is always accepted. */
  readonly replacedBytes?: number | undefined
}

/** Room for one upload, until it has been stored (committed) or discarded. */
export interface Reservation {
  /** Counts bytes before they are written, and waits while the organization uploads too fast. @throws AppError as reserve(). */
  add(bytes: number): Promise<void>
  /** May be called again. */
  release(): void
}

export interface QuotaOptions {
  /** The field of the request that a refusal names. */
  readonly field: string
  /** The kind of file, for people: "pictures". */
  readonly what: string
  readonly orgMaxBytes: number
  /** The limit for all organizations together. */
  readonly totalMaxBytes: number
  /** Returns the present usage. */
  readonly getUsage: (orgId: string) => Promise<StorageUsage>
  readonly disk: DiskSpace
  readonly pace?: UploadPace
}

/** For an upload without a length: while there is plenty of space, not every chunk queries the database. */
const STEP_BYTES = 4 * 1024 * 1024
const PLENTY_BYTES = 64 * 1024 * 1024
/** The bytes written between two checks of the disk, which others fill too. */
const DISK_CHECK_BYTES = 16 * 1024 * 1024

interface OpenUpload {
  readonly orgId: string
  readonly replacedBytes: number
  reservedBytes: number
}

/**
 * Reservations are in memory, because one server has the data folder to itself. They are made one after the other and
 * end after the commit, so two uploads can't exceed a quota together: at worst one that ends at this moment counts
 * twice.
 */
export function createUploadQuota(options: QuotaOptions): UploadQuota {
  const { pace = createUploadPace() } = options
  const open = new Set<OpenUpload>()
  const inTurn = limitConcurrency({ running: 1, waiting: 1000, refusal: 'Too many uploads at once: try again soon' })

  async function reserveInQuota(
    orgId: string,
    { declaredBytes, replacedBytes }: { readonly declaredBytes: number; readonly replacedBytes: number },
  ): Promise<Reservation> {
    const upload = { orgId, replacedBytes, reservedBytes: 0 }
    open.add(upload)
    const close = (): void => void open.delete(upload)
    const extend = (neededBytes: number): Promise<number> =>
      inTurn(async () => (upload.reservedBytes = await decideReserved(options, { upload, open, neededBytes })))
    try {
      const onDisk = await reserveOnDisk(options.disk, declaredBytes, extend)
      return {
        add: (bytes) => onDisk.add(bytes),
        release() {
          close()
          onDisk.release()
        },
      }
    } catch (error) {
      close()
      throw error
    }
  }

  return {
    async reserve({ orgId, declaredBytes = 0, replacedBytes = 0 }) {
      const room =
        orgId === null
          ? await reserveOnDisk(options.disk, declaredBytes, async (neededBytes) => neededBytes + STEP_BYTES)
          : await reserveInQuota(orgId, { declaredBytes, replacedBytes })
      return {
        async add(bytes) {
          await room.add(bytes)
          if (orgId !== null) await pace.wait(orgId, bytes)
        },
        release: () => room.release(),
      }
    },
    pace: (orgId, bytes) => pace.wait(orgId, bytes),
  }
}

interface Extension {
  readonly upload: OpenUpload
  /** The uploads in progress, including `upload`. */
  readonly open: ReadonlySet<OpenUpload>
  /** The total size that `upload` needs. */
  readonly neededBytes: number
}

/** @returns The total to reserve for the upload: its need, or a step more. */
async function decideReserved(options: QuotaOptions, { upload, open, neededBytes }: Extension): Promise<number> {
  const { orgId, replacedBytes } = upload
  const others = [...open].filter((other) => other !== upload)
  // This sum is computed before the query, so that an upload that ends in between counts twice rather than not at all.
  const underWay = { org: sumOf(others.filter((other) => other.orgId === orgId)), total: sumOf(others) }
  const { orgBytes, totalBytes } = await options.getUsage(orgId)
  const used = { org: orgBytes + underWay.org, total: totalBytes + underWay.total }
  const orgRoom = Math.max(options.orgMaxBytes - used.org, 0) + replacedBytes
  const totalRoom = Math.max(options.totalMaxBytes - used.total, 0) + replacedBytes
  if (neededBytes > orgRoom) throw orgIsFull(options, used.org, neededBytes)
  if (neededBytes > totalRoom) throw serverIsFull(options, used.total, neededBytes)
  return Math.min(orgRoom, totalRoom) - neededBytes > PLENTY_BYTES ? neededBytes + STEP_BYTES : neededBytes
}

function sumOf(uploads: readonly OpenUpload[]): number {
  return uploads.reduce((sum, { reservedBytes }) => sum + reservedBytes, 0)
}

/**
 * Prevents the upload from filling the disk, besides the check of `extend`.
 * @param extend Reserves at least this much, and returns the reserved amount.
 */
async function reserveOnDisk(
  disk: DiskSpace,
  declaredBytes: number,
  extend: (neededBytes: number) => Promise<number>,
): Promise<Reservation> {
  let [reservedBytes, receivedBytes, checkAtBytes] = [0, 0, DISK_CHECK_BYTES]

  async function grow(neededBytes: number): Promise<void> {
    const before = reservedBytes
    reservedBytes = await extend(neededBytes)
    disk.expect(reservedBytes - before)
    await disk.assertRoom()
  }

  function release(): void {
    disk.expect(receivedBytes - reservedBytes)
    reservedBytes = receivedBytes
  }

  async function add(bytes: number): Promise<void> {
    const neededBytes = receivedBytes + bytes
    if (neededBytes > reservedBytes) await grow(neededBytes)
    else if (neededBytes > checkAtBytes) {
      checkAtBytes = neededBytes + DISK_CHECK_BYTES
      await disk.assertRoom()
    }
    receivedBytes = neededBytes
    disk.expect(-bytes)
  }

  try {
    await grow(declaredBytes)
  } catch (error) {
    release()
    throw error
  }
  return { add, release }
}

function orgIsFull({ field, what, orgMaxBytes }: QuotaOptions, usedBytes: number, neededBytes: number): AppError {
  const why = `has at least ${neededBytes} bytes, and of the ${orgMaxBytes} bytes of ${what} that the organization may store, ${usedBytes} are in use`
  return invalidField(field, why)
}

function serverIsFull({ field, what, totalMaxBytes }: QuotaOptions, usedBytes: number, neededBytes: number): AppError {
  const why = `has at least ${neededBytes} bytes, and of the ${totalMaxBytes} bytes of ${what} that the server may store, ${usedBytes} are in use`
  return invalidField(field, why, 'unavailable')
}
