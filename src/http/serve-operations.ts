import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { accountOf } from '../access/request-limits.ts'
import { type Context, contextWith } from '../platform/context.ts'
import { EncodedJson, encodeJson } from './bodies/encode-json.ts'
import { takeForms } from './bodies/forms.ts'
import { takeJson } from './bodies/json.ts'
import { type Operation, contentOf } from './operation.ts'
import { type Lender, createLender } from './turns/lender.ts'
import { ListErrorReply } from './schemas.ts'
import { takeStreams } from './bodies/streams.ts'

const IDLE_MS = 60_000

/** Registers operations; under /api/v1. */
export function serveOperations(ctx: Context, operations: readonly Operation[]): FastifyPluginAsync {
  return async (http) => {
    const sending = new Set<Readable>()
    // A stop does not wait for slow readers: they see the interruption.
    http.addHook('preClose', async () => sending.forEach((body) => body.destroy()))
    const heavy = createLender(ctx.heavyDbs.map((db) => contextWith(ctx, db)))
    const readers = new Map(operations.filter(({ method }) => method === 'GET').map(({ at, run }) => [at.path, run]))
    for (const operation of operations) {
      const { body } = operation.schema
      const answer = answering({ ctx, heavy }, operation, { read: readers.get(operation.at.path), sending })
      const content = body === undefined ? {} : contentOf(body)
      const [form, stream] = ['multipart/form-data' in content, 'application/octet-stream' in content]
      if (!form && !stream) addRoute(http, operation, answer)
      else
        await http.register(async (context) => {
          if (stream) takeStreams(context)
          if (form) await takeForms(context)
          if (form && 'application/json' in content) takeJson(context)
          addRoute(context, operation, answer)
        })
    }
  }
}

interface Contexts {
  readonly ctx: Context
  /** For reads, and some changes, of accounts that use more than their share. */
  readonly heavy: Lender<Context>
}

interface Serving {
  /** The operation that reads the record of this update. */
  readonly read: Operation['run'] | undefined
  /** Answers that are being sent piece by piece. */
  readonly sending: Set<Readable>
}

/** @throws Error for an operation that updates a record without a read operation. */
function answering({ ctx, heavy }: Contexts, operation: Operation, { read, sending }: Serving): Answering {
  const { id, method, updates, locksOnlyItsRecord, run, reply: declared } = operation
  if (updates !== null && !updates.isReadHere && read === undefined)
    throw new Error(`${id} updates a ${updates.name} that nothing reads`)
  const [mediaType = 'application/json'] = Object.keys(declared.content)
  return async (request, reply) => {
    // Most changes lock rows for which others may wait, so they keep the usual priority.
    const mayYield = method === 'GET' || locksOnlyItsRecord
    const lent = mayYield && request.isHeavy ? heavy.claim(accountOf(request.caller.principal)) : undefined
    const result = await run(lent?.value ?? ctx, request, reply, read).finally(lent?.release)
    if (mediaType !== 'application/json') void reply.type(`${mediaType}; charset=utf-8`)
    if (result instanceof EncodedJson) return sendJson(reply, result.text)
    if (result instanceof Readable) return sendStream(reply, result, sending)
    if (Buffer.isBuffer(result) || reply.hasHeader('content-type')) return result
    return sendJson(reply, await encodeJson(result === undefined ? {} : result, request.giveWay))
  }
}

function sendJson(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text)
}

/**
 * Sends a text while it is generated. A client that accepts nothing for a while counts as gone, whatever the state of
 * its socket.
 */
function sendStream(reply: FastifyReply, body: Readable, sending: Set<Readable>): FastifyReply {
  sending.add(body)
  body.once('close', () => sending.delete(body))
  reply.raw.setTimeout(IDLE_MS)
  if (!reply.hasHeader('content-type')) void reply.type('application/json; charset=utf-8')
  return reply.send(body)
}

/** Returns the schema that is checked before the operation runs, which reads forms and streams itself. */
function checkedBodyOf(body: TSchema): object | undefined {
  const { 'application/json': json, ...others } = contentOf(body)
  if (Object.keys(others).length === 0) return json
  return json === undefined ? undefined : { content: { 'application/json': { schema: json } } }
}

type Answering = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

function addRoute(http: FastifyInstance, operation: Operation, answer: Answering): void {
  const { method, at: place } = operation
  const { body, ...schema } = operation.schema
  const checked = body === undefined ? undefined : checkedBodyOf(body)
  http.route({
    method,
    url: place.path,
    // Without a schema, unknown parameters would not be refused.
    schema: { querystring: Type.Object({}), ...schema, ...(checked !== undefined && { body: checked }) },
    config: {
      ...(place.audience === 'nobody' && { public: true }),
      ...(place.beforeSecondFactor && { beforeSecondFactor: true }),
      ...(Object.values(operation.errors).includes(ListErrorReply) && { listsErrors: true }),
    },
    handler: answer,
  })
}
