import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { UPLOAD_LIMIT_MS } from '../../mxedges/commands/time-limits.ts'
import {
  type RetryLimits,
  TransportError,
  defaultRetries,
  isPassingStatus,
  pauseBeforeRetry,
  retryAfterMsOf,
  transportErrorOf,
} from './transport.ts'

/** A file for an address of Signalbox. */
export interface FileToUpload {
  readonly uri: string
  readonly path: string
  /** The name of the machine in the form. */
  readonly name: string
}

/** @throws Error with the reason. */
export type Upload = (file: FileToUpload) => Promise<void>

export interface UploadLimits extends RetryLimits {
  /** The longest time in which the server may neither read nor answer. */
  readonly stallMs: number
  /** The time limit for all attempts together. */
  readonly longestMs: number
}

const defaultLimits: UploadLimits = { ...defaultRetries, stallMs: 60_000, longestMs: UPLOAD_LIMIT_MS }

export interface UploadOptions {
  /** PEM of the CAs that are trusted besides the public ones; may grow. */
  readonly ca: readonly string[]
  readonly signal: AbortSignal
  readonly limits?: Partial<UploadLimits>
}

/**
 * Uploads a file in a form, as devices do: `name`, then `data`. No redirect is followed. An upload that breaks, because the
 * server restarts for example, begins again: the server accepts the file of a command more than once.
 */
export function createUpload({ ca, signal, limits: changed }: UploadOptions): Upload {
  const limits = { ...defaultLimits, ...changed }
  return async (file) => {
    const deadline = AbortSignal.timeout(limits.longestMs)
    const stop = AbortSignal.any([signal, deadline])
    try {
      for (let failures = 1; ; failures += 1) {
        const error = await send(file, { ca, stallMs: limits.stallMs, signal: stop }).then(() => null, transportErrorOf)
        if (error === null) return
        if (stop.aborted) throw error
        await wait(pauseBeforeRetry(error, failures, limits), undefined, { signal: stop })
      }
    } catch (error) {
      if (!deadline.aborted) throw error
      throw new Error(`The upload took longer than ${limits.longestMs / 1000} s`, { cause: error })
    }
  }
}

interface Attempt {
  readonly ca: readonly string[]
  readonly stallMs: number
  readonly signal: AbortSignal
}

async function send({ uri, path, name }: FileToUpload, { ca, stallMs, signal }: Attempt): Promise<void> {
  const boundary = randomUUID()
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="name"`,
    '',
    name,
    `--${boundary}`,
    `Content-Disposition: form-data; name="data"; filename="support.bin"`,
    'Content-Type: application/octet-stream',
    '',
    '',
  ].join('\r\n')
  const tail = `\r\n--${boundary}--\r\n`
  const { size } = await stat(path)
  const options = {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': Buffer.byteLength(head) + size + Buffer.byteLength(tail),
    },
    agent: false,
    timeout: stallMs,
    signal,
  } as const
  async function* body() {
    yield Buffer.from(head)
    if (size > 0) yield* createReadStream(path, { end: size - 1 }) as AsyncIterable<Buffer>
    yield Buffer.from(tail)
  }
  const url = new URL(uri)
  const request =
    url.protocol === 'https:'
      ? httpsRequest(url, { ...options, ca: [...rootCertificates, ...ca] })
      : httpRequest(url, options)
  request.once('timeout', () => {
    request.destroy(new TransportError(`The server did not continue the upload within ${stallMs / 1000} s`))
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.on('error', reject)
  })
  // The server may answer, and close the connection, before it has read everything.
  const sent = pipeline(body, request).catch((error: unknown) => Promise.race([answered, Promise.reject(error)]))
  const [response] = await Promise.all([answered, sent])
  const { statusCode: status = 0, headers } = response
  const detail = status === 200 ? '' : await readDetail(response)
  response.destroy()
  if (status === 200) return
  const text = `The server answered ${status} to the upload${detail}`
  throw isPassingStatus(status) ? new TransportError(text, retryAfterMsOf(headers)) : new Error(text)
}

const MAX_ANSWER_BYTES = 4096

async function readDetail(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8')
      if (text.length > MAX_ANSWER_BYTES) return ''
    }
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null && 'detail' in answer ? `: ${String(answer.detail)}` : ''
  } catch {
    return ''
  }
}
