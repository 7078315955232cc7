import { type KeyObject, createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Artifact } from '../../gateway/edge/messages.ts'
import { DOWNLOAD_LIMIT_MS } from '../../mxedges/commands/time-limits.ts'
import { isSignedBy } from '../../platform/ed25519.ts'
import { NotExecuted } from '../appliance.ts'
import { deleteArtifacts, hashFile } from './artifact-folder.ts'
import { Interrupted } from '../interrupted.ts'
import type { OnPoint } from '../points.ts'
import { MIN_BYTES, requestPart } from './request-part.ts'
import { RefusedError, type RetryLimits, TransportError, defaultRetries, pauseBeforeRetry } from './transport.ts'

/** An attempt that has received bytes begins the count of `tries` again. */
export interface DownloadLimits extends RetryLimits {
  readonly stallMs: number
  /** The time limit for all attempts together. */
  readonly longestMs: number
  /** Space that a download leaves free on the disk. */
  readonly reserveBytes: number
}

const defaultLimits: DownloadLimits = {
  ...defaultRetries,
  stallMs: 30_000,
  // The addresses of the gateway expire then.
  longestMs: DOWNLOAD_LIMIT_MS,
  reserveBytes: 64 * 1024 ** 2,
}

export interface DownloadOptions {
  readonly folder: string
  /** PEM of the CAs that are trusted besides the public ones. */
  readonly ca: readonly string[]
  /** An Ed25519 key: only artifacts that it has signed are downloaded. Null: the signature is not checked. */
  readonly publicKey: KeyObject | null
  readonly signal: AbortSignal
  readonly onPoint: OnPoint
  readonly limits?: Partial<DownloadLimits>
}

/** The packages of one upgrade, which are downloaded before the first one is installed. */
const MAX_KEPT = 5

/** Downloads artifacts, one at a time, and stores the newest ones as long as the disk has the space. */
export interface Downloads {
  /**
   * Resolves with the path of the complete and checked file, which may exist already. After a crash or a failed
   * attempt, it continues with the received part.
   * @param onPercent Called at the beginning of each attempt and with each piece.
   * @throws NotExecuted if it did not begin; Interrupted; Error with the reason. A file with the wrong content is
   *   deleted.
   */
  fetch(artifact: Artifact, onPercent: (percent: number) => void): Promise<string>
  /** Returns the path of a complete and checked file; null if there is none. */
  find(sha256: string): Promise<string | null>
  remove(artifact: Pick<Artifact, 'sha256'>): Promise<void>
  /** Deletes every other artifact. */
  removeOthers(artifact: Pick<Artifact, 'sha256'>): Promise<void>
}

export function createDownloads(options: DownloadOptions): Downloads {
  const { folder, publicKey } = options
  const limits = { ...defaultLimits, ...options.limits }
  const pathOf = (name: string) => join(folder, name)
  return {
    async fetch(artifact, onPercent) {
      checkSignature(artifact, publicKey)
      const url = parseAddress(artifact.uri)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { sha256 } = artifact
      await deleteArtifacts(folder, { sha256, others: MAX_KEPT - 1 })
      const complete = pathOf(sha256)
      if ((await hashFile(complete))?.digest('hex') === sha256) return complete
      await new Download(complete, { artifact, url, onPercent, limits, options }).run()
      return complete
    },
    async find(sha256) {
      const path = pathOf(sha256)
      return (await hashFile(path))?.digest('hex') === sha256 ? path : null
    },
    async remove({ sha256 }) {
      await rm(pathOf(sha256), { force: true })
    },
    async removeOthers({ sha256 }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await deleteArtifacts(folder, { sha256, others: 0 })
    },
  }
}

/** @throws NotExecuted. */
function checkSignature({ sha256, signature }: Artifact, publicKey: KeyObject | null): void {
  if (publicKey === null) return
  if (signature === undefined) throw new NotExecuted('The artifact has no signature, which this agent demands')
  if (!isSignedBy(publicKey, { sha256, signature }))
    throw new NotExecuted("The artifact's signature is not by the key that this agent trusts")
}

/** @throws NotExecuted. */
function parseAddress(uri: string): URL {
  const url = URL.canParse(uri) ? new URL(uri) : null
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new NotExecuted('The address of the artifact is neither http nor https')
}

async function freeBytes(folder: string): Promise<number> {
  const { bsize, bavail } = await statfs(folder)
  return bsize * bavail
}

interface DownloadOrder {
  readonly artifact: Artifact
  readonly url: URL
  readonly onPercent: (percent: number) => void
  readonly limits: DownloadLimits
  readonly options: DownloadOptions
}

/** A file that is being received. `PATH.part` contains the received bytes, `PATH.json` identifies the whole file. */
class Download {
  readonly #path: string
  readonly #order: DownloadOrder
  #offset = 0
  #hash = createHash('sha256')
  #etag: string | null = null

  constructor(path: string, order: DownloadOrder) {
    this.#path = path
    this.#order = order
  }

  get #part(): string {
    return `${this.#path}.part`
  }

  get #record(): string {
    return `${this.#path}.json`
  }

  async run(): Promise<void> {
    const { artifact, limits, options } = this.#order
    await this.#readPart()
    const isContinued = this.#offset > 0
    await this.#checkSpace()
    const deadline = AbortSignal.timeout(limits.longestMs)
    try {
      await this.#receiveAll(deadline)
      if (isContinued && !this.#isRight()) {
        // After a power failure the part may differ from the received bytes.
        await this.#startOver()
        await this.#receiveAll(deadline)
      }
      if (!this.#isRight()) throw new Error(`The file does not have the SHA-256 ${artifact.sha256}`)
    } catch (error) {
      if (options.signal.aborted) throw new Interrupted('The agent stops')
      // The received bytes stay: the next command continues with them.
      if (deadline.aborted)
        throw new Error(`The download took longer than ${limits.longestMs / 1000} s`, { cause: error })
      if (!(error instanceof TransportError || error instanceof RefusedError)) await this.#delete()
      throw error
    }
    await rename(this.#part, this.#path)
    await rm(this.#record, { force: true })
  }

  /** Continues with a part only if its record identifies the file. */
  async #readPart(): Promise<void> {
    const record = await readFile(this.#record, 'utf8').catch(() => '')
    const { size, etag } = parseRecord(record)
    const length = await stat(this.#part).then(
      (part) => part.size,
      () => 0,
    )
    const hash =
      etag === null || size !== this.#order.artifact.size || length > size ? null : await hashFile(this.#part)
    if (hash === null) return this.#delete()
    this.#etag = etag
    this.#offset = length
    this.#hash = hash
  }

  async #checkSpace(): Promise<void> {
    const { artifact, limits, options } = this.#order
    const neededBytes = artifact.size - this.#offset + limits.reserveBytes
    if ((await freeBytes(options.folder)) >= neededBytes) return
    await deleteArtifacts(options.folder, { sha256: artifact.sha256, others: 0 })
    const free = await freeBytes(options.folder)
    if (free >= neededBytes) return
    await this.#delete()
    throw new NotExecuted(`The disk has ${free} bytes free, but the artifact needs ${neededBytes}`)
  }

  /**
   * @param deadline Ends the attempt that runs then, however slowly the server still sends.
   * @throws TransportError after too many attempts; Error with the reason.
   */
  async #receiveAll(deadline: AbortSignal): Promise<void> {
    const { artifact, limits, options } = this.#order
    const signal = AbortSignal.any([options.signal, deadline])
    for (let failures = 0; this.#offset < artifact.size;) {
      const before = this.#offset
      try {
        await this.#receive(signal)
      } catch (error) {
        if (signal.aborted) throw error
        failures = this.#offset - before >= MIN_BYTES ? 1 : failures + 1
        await wait(pauseBeforeRetry(error, failures, limits), undefined, { signal })
      }
    }
  }

  /** Makes one attempt. */
  async #receive(signal: AbortSignal): Promise<void> {
    const { artifact, url, limits, options } = this.#order
    const { size } = artifact
    this.#order.onPercent(this.#percent())
    const { stallMs } = limits
    const { ca } = options
    const part = await requestPart({ url, ca, offset: this.#offset, etag: this.#etag, size, stallMs, signal })
    if (part.offset !== this.#offset) await this.#startOver()
    await this.#writeRecord(part.etag)
    const file = await open(this.#part, 'a', 0o600)
    try {
      for await (const chunk of part.body) await this.#append(file, chunk)
      await file.sync()
    } finally {
      await file.close()
    }
    if (this.#offset < size) throw new TransportError(`The server sent only ${this.#offset} of ${size} bytes`)
  }

  async #append(file: FileHandle, chunk: Buffer): Promise<void> {
    const { artifact, options } = this.#order
    if (this.#offset + chunk.length > artifact.size) throw new Error(`The file has more than ${artifact.size} bytes`)
    await file.writeFile(chunk)
    this.#hash.update(chunk)
    this.#offset += chunk.length
    options.onPoint('part written')
    this.#order.onPercent(this.#percent())
  }

  #percent(): number {
    return Math.floor((this.#offset / this.#order.artifact.size) * 100)
  }

  #isRight(): boolean {
    return this.#hash.copy().digest('hex') === this.#order.artifact.sha256
  }

  async #writeRecord(etag: string | null): Promise<void> {
    if (etag === this.#etag && this.#offset > 0) return
    this.#etag = etag
    const file = await open(this.#record, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify({ size: this.#order.artifact.size, etag }))
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async #startOver(): Promise<void> {
    await this.#delete()
    this.#etag = null
    this.#offset = 0
    this.#hash = createHash('sha256')
  }

  async #delete(): Promise<void> {
    await rm(this.#part, { force: true })
    await rm(this.#record, { force: true })
  }
}

/** A crash may have cut the record off. */
function parseRecord(text: string): { readonly size: number; readonly etag: string | null } {
  try {
    const { size, etag } = JSON.parse(text) as { readonly size?: unknown; readonly etag?: unknown }
    return { size: Number(size), etag: typeof etag === 'string' ? etag : null }
  } catch {
    return { size: 0, etag: null }
  }
}
