import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, invalidField } from '../../platform/errors.ts'
import { allowLongBody } from './body-limits.ts'
import { assertText, parseJsonBody } from './body.ts'
import { hasLeft } from '../turns/completion/request-end.ts'
import { isObject } from '../../platform/json/is-object.ts'

/** A client that sends nothing for this long counts as gone, whatever the state of its socket. */
const IDLE_MS = 60_000
const MAX_FIELD_BYTES = 1024 * 1024
const MAX_PARTS = 16

/**
 * Makes the routes of this context accept forms (`multipart/form-data`) instead of JSON. Register it in a separate
 * context, and let the route authorize before it calls `readForm`.
 */
export async function acceptForms(http: FastifyInstance): Promise<void> {
  http.removeAllContentTypeParsers()
  // Every part arrives as bytes: as text, the parser would replace bytes that are not UTF-8.
  await http.register(multipart, {
    limits: { files: MAX_PARTS, parts: MAX_PARTS, headerPairs: 50 },
    isPartAFile: () => true,
  })
  http.addHook('preParsing', async ({ headers, raw }) => {
    if (headers['content-type']?.toLowerCase().startsWith('multipart/') === true) allowLongBody(raw)
  })
  // The rest of a refused body is not worth reading.
  http.addHook('onError', async (_request, reply) => void reply.header('connection', 'close'))
}

/** The fields of a form besides its file. */
export interface FormFields {
  readonly [name: string]: string
}

/** A file while it arrives. */
export interface FormFile {
  readonly body: Readable
  /** The type that the client declares; null if none. */
  readonly type: string | null
}

export interface Form<T> {
  readonly fields: FormFields
  /** The result of `take`. */
  readonly file: T
}

export interface FormOptions<T> {
  /** Name of the part with the file. */
  readonly file: string
  readonly maxBytes: number
  /** Names of the other parts: small texts, even where a client sends them as files. */
  readonly texts?: readonly string[]
  /** Reads the file to its end. */
  readonly take: (file: FormFile) => Promise<T>
  /** Undoes `take` where the rest of the form is invalid. */
  readonly discard: (taken: T) => Promise<void>
}

/**
 * Reads a form with one file and texts, part by part.
 * @throws AppError invalid naming the part, or the fault of the form; errors of `take`; a form with too many parts has
 *   a 4xx status.
 */
export async function readForm<T>(request: FastifyRequest, options: FormOptions<T>): Promise<Form<T>> {
  if (!request.isMultipart()) throw invalidField(options.file, 'send it as a part of a multipart/form-data body')
  // The form of a client that has left already would never end.
  if (request.raw.destroyed) throw hasLeft()
  request.raw.setTimeout(IDLE_MS)
  const { file, maxBytes, texts = [] } = options
  const fields: Record<string, string> = {}
  let taken: { readonly file: T } | null = null
  try {
    // One byte more than allowed, so that `take` refuses the file: it knows the kind of the file.
    for await (const part of request.files({ limits: { fileSize: Math.max(maxBytes, MAX_FIELD_BYTES) + 1 } })) {
      if (texts.includes(part.fieldname)) fields[part.fieldname] = await readText(part.fieldname, part.file)
      else if (part.fieldname !== file) throw invalidField(part.fieldname, 'is not a part of this form')
      else if (isText(part)) throw invalidField(file, 'must be a file')
      else if (taken !== null) throw invalidField(file, 'is given twice')
      else taken = { file: await options.take({ body: part.file, type: part.mimetype || null }) }
    }
    if (taken === null) throw invalidField(options.file, 'is required')
    return { fields, file: taken.file }
  } catch (error) {
    if (taken !== null) await options.discard(taken.file)
    throw parserErrorOf(error) ?? error
  }
}

/** The parser's errors have no code; their messages distinguish a faulty body from a defect. */
const parserErrors: readonly (readonly [RegExp, string])[] = [
  [/boundary (not found|required)/i, 'the Content-Type of a multipart/form-data body must name its boundary'],
  [/unexpected end of multipart data/i, 'the multipart/form-data body ends before its closing boundary'],
]

/** The client's mistake in the form itself; undefined for any other error. */
function parserErrorOf(error: unknown): AppError | undefined {
  if (!(error instanceof Error) || error instanceof AppError) return undefined
  const why = parserErrors.find(([pattern]) => pattern.test(error.message))?.[1]
  return why === undefined ? undefined : invalidField('body', why)
}

/** A part without a file name is a text, unless it declares itself as bytes. */
function isText({ filename, mimetype }: { readonly filename: string | undefined; readonly mimetype: string }): boolean {
  return filename === undefined && mimetype !== 'application/octet-stream'
}

async function readText(name: string, body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_FIELD_BYTES) throw new AppError('too_large', `${name} may have at most ${MAX_FIELD_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks)
  if (!isUtf8(text)) throw invalidField(name, 'is not UTF-8 text')
  assertText(text.toString(), name)
  return text.toString()
}

/** Returns the JSON object in a part; an empty one if the form has no such part. @throws AppError invalid. */
export function jsonPart(fields: FormFields, name: string): Record<string, unknown> {
  const value = parseJsonBody(fields[name] ?? '')
  if (isObject(value)) return value
  throw invalidField(name, 'must be a JSON object')
}
