import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { AppError } from '../errors.ts'
import { lazily } from '../lazily.ts'
import type { Logger } from '../log.ts'
import type { ObjectStore } from './object-store.ts'

export interface S3Settings {
  readonly bucket: string
  /** Precedes the names of the objects. */
  readonly prefix: string
  readonly region: string
  /** Null: that of the region at AWS. */
  readonly endpoint: string | null
  /** The bucket is part of the path, not of the host's name. */
  readonly pathStyle: boolean
  /** Null: as the environment of the process provides them. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null
}

/** The maximum size of one request. Source: Amazon S3, `PutObject`. */
export const MAX_S3_OBJECT_BYTES = 5 * 1024 ** 3

const ATTEMPTS = 3
/** A connection on which nothing moves for this long is given up; a download is quiet while its device is slow. */
const SILENCE_MS = 300_000
/** An object that arrives at the store more slowly, in all attempts together, is given up. */
const MIN_BYTES_PER_MS = 128

export interface S3Limits {
  /** A short request, or the beginning of an object, that takes longer is given up. */
  readonly answerMs: number
  /** The same for an object that is stored. A store that takes a byte a minute is never silent. */
  readonly storedMs: (sizeBytes: number) => number
}

const usualLimits: S3Limits = {
  answerMs: 30_000,
  storedMs: (sizeBytes) => SILENCE_MS + Math.ceil(sizeBytes / MIN_BYTES_PER_MS),
}

/** An S3-compatible store. Its client is loaded by the first use: most installations never need it. */
export function createS3Store(
  log: Logger,
  settings: S3Settings,
  { answerMs, storedMs }: S3Limits = usualLimits,
): ObjectStore {
  const opened = lazily(() => openClient(settings))
  const place = (name: string) => ({ Bucket: settings.bucket, Key: settings.prefix + name })

  /** @throws AppError unavailable. */
  async function call<T>(what: string, run: (sdk: Sdk) => Promise<T>): Promise<T> {
    try {
      return await run(await opened.get())
    } catch (error) {
      log.error({ err: error, bucket: settings.bucket }, `the object store failed to ${what}`)
      throw new AppError(
        'unavailable',
        'The store of firmware images does not work at present: try again later. The log of the server has the reason',
      )
    }
  }

  return {
    put: (name, { path, sizeBytes, sha256 }) =>
      call('store an object', async ({ client, PutObjectCommand, HeadObjectCommand }) => {
        const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64')
        const sendAll = async (options: SendOptions): Promise<void> => {
          for (let attempt = 1; ; attempt += 1) {
            // The client can't repeat a request whose body is a stream.
            const Body = createReadStream(path)
            try {
              const order = { ...place(name), Body, ContentLength: sizeBytes, ChecksumSHA256 }
              await client.send(new PutObjectCommand(order), options)
              return
            } catch (error) {
              Body.destroy()
              if (attempt === ATTEMPTS) throw error
            }
          }
        }
        const limitMs = storedMs(sizeBytes)
        await within(limitMs, sendAll, `It did not take ${sizeBytes} bytes within ${limitMs} ms`)
        // A proxy or another server at the address may answer 200 to anything.
        const stored = await promptly(answerMs, (options) => client.send(new HeadObjectCommand(place(name)), options))
        if (stored.ContentLength !== sizeBytes)
          throw new Error(`It has ${stored.ContentLength} bytes of the object, which has ${sizeBytes}`)
      }),
    open: (name, range) =>
      call('read an object', async ({ client, GetObjectCommand }) => {
        const order = new GetObjectCommand({ ...place(name), Range: `bytes=${range.start}-${range.end}` })
        const found = await promptly(answerMs, (options) => client.send(order, options)).catch((error: unknown) => {
          if (isMissing(error)) return null
          throw error
        })
        // On this platform the body is a stream of Node.js, whatever the declared type.
        const body = (found?.Body as Readable | undefined) ?? null
        if (found === null || body === null || isOfRange(found, range)) return body
        body.destroy()
        const given = found.ContentRange ?? `${found.ContentLength} bytes`
        throw new Error(`It answered with ${given} to a request for ${order.input.Range}`)
      }),
    remove: (name) =>
      call('delete an object', async ({ client, DeleteObjectCommand }) => {
        await promptly(answerMs, (options) => client.send(new DeleteObjectCommand(place(name)), options))
      }),
    async *list() {
      for (let token: string | undefined, isLast = false; !isLast;) {
        const page = await call('list its objects', ({ client, ListObjectsV2Command }) => {
          const { bucket: Bucket, prefix: Prefix } = settings
          const order = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: token })
          return promptly(answerMs, (options) => client.send(order, options))
        })
        yield (page.Contents ?? []).flatMap(({ Key, LastModified }) =>
          Key === undefined || LastModified === undefined
            ? []
            : [{ name: Key.slice(settings.prefix.length), modifiedAt: LastModified }],
        )
        token = page.NextContinuationToken
        isLast = page.IsTruncated !== true || token === undefined
      }
    },
  }
}

type Sdk = Awaited<ReturnType<typeof openClient>>

async function openClient({ region, endpoint, pathStyle, credentials }: S3Settings) {
  const sdk = await import('@aws-sdk/client-s3')
  const agent = { keepAlive: true, maxSockets: 10_000 }
  const client: S3Client = new sdk.S3Client({
    region,
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS,
    // Its warnings would go to the standard error, beside the log; each failure is logged by its caller.
    logger: { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet },
    // Stores other than Amazon's do not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 10_000, socketTimeout: SILENCE_MS, httpAgent: agent, httpsAgent: agent },
    ...(endpoint !== null && { endpoint }),
    ...(credentials !== null && { credentials }),
  })
  return { ...sdk, client }
}

function quiet(): void {}

interface SendOptions {
  readonly abortSignal: AbortSignal
}

/** Aborts a request that gets no answer within `ms`. The limit does not apply to the body of the answer. */
function promptly<T>(ms: number, run: (options: SendOptions) => Promise<T>): Promise<T> {
  return within(ms, run, `It did not answer within ${ms} ms`)
}

/** Aborts what takes longer than `ms`. @throws Error with the text then. */
async function within<T>(ms: number, run: (options: SendOptions) => Promise<T>, text: string): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ms)
  try {
    return await run({ abortSignal: late.signal })
  } catch (error) {
    if (late.signal.aborted) throw new Error(text, { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** True if the body is the requested part of an object. A store may answer with all of it instead, without a range. */
function isOfRange(
  { ContentRange, ContentLength }: GetObjectCommandOutput,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  if (ContentRange === undefined) return start === 0 && ContentLength === end + 1
  return ContentRange.startsWith(`bytes ${start}-${end}/`)
}

/** Any server answers 404 to what it does not know. Only a store has a code for objects. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && error.name === 'NoSuchKey'
}
