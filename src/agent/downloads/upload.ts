import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { rootCertificates } from 'node:tls'
import { UPLOAD_LIMIT_MS } from '../../mxedges/commands/time-limits.ts'

/** A file for an address of Signalbox. */
export interface FileToUpload {
  readonly uri: string
  readonly path: string
  /** The name of the machine in the form. */
  readonly name: string
}

/** @throws Error with the reason. */
export type Upload = (file: FileToUpload) => Promise<void>

export interface UploadOptions {
  /** PEM of the CAs that are trusted besides the public ones; may grow. */
  readonly ca: readonly string[]
  readonly signal: AbortSignal
  /** The longest time for a whole upload. */
  readonly timeoutMs?: number
}

/** Uploads a file in a form, as devices do: `name`, then `data`. No redirect is followed. */
export function createUpload({ ca, signal, timeoutMs = UPLOAD_LIMIT_MS }: UploadOptions): Upload {
  return async ({ uri, path, name }) => {
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
    const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const options = {
      method: 'POST',
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': Buffer.byteLength(head) + size + Buffer.byteLength(tail),
      },
      agent: false,
      signal: stop,
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
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.on('error', reject)
    })
    // The server may answer, and close the connection, before it has read everything.
    const sent = pipeline(body, request).catch((error: unknown) => Promise.race([answered, Promise.reject(error)]))
    const [response] = await Promise.all([answered, sent])
    const { statusCode: status = 0 } = response
    const detail = status === 200 ? '' : await readDetail(response)
    response.destroy()
    if (status !== 200) throw new Error(`The server answered ${status} to the upload${detail}`)
  }
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
