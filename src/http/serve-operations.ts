import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Context } from '../platform/context.ts'
import { type Apart, type ApartAnswer, errorOfRefusal } from './apart/messages.ts'
import { EncodedJson, encodeJson } from './bodies/encode-json.ts'
import { acceptForms } from './bodies/forms.ts'
import { acceptJson } from './bodies/json.ts'
import { type Operation, contentOf } from './operation.ts'
import { type RunOperation, createRunOperation } from './run-operation.ts'
import { ListErrorReply } from './schemas.ts'
import { assertStays } from './turns/completion/request-end.ts'
import { kindOfRequest } from './turns/costs/request-kind.ts'
import { acceptStreams } from './bodies/streams.ts'
import { UnparsedBody } from './bodies/unparsed-body.ts'

const IDLE_MS = 60_000

/**
 * Registers operations; under /api/v1.
 * @param apart Another process that can run some of them.
 */
export function serveOperations(
  ctx: Context,
  operations: readonly Operation[],
  apart: Apart | null = null,
): FastifyPluginAsync {
  return async (http) => {
    const sending = new Set<Readable>()
    // A stop does not wait for slow readers: they see the interruption.
    http.addHook('preClose', async () => sending.forEach((body) => body.destroy()))
    const run = createRunOperation(ctx, operations)
    const routeOf = (operation: Operation): ServedRoute => {
      const mayRunApart = apart?.operations.has(operation.id) === true
      const answerHere = answering(operation, { run, sending })
      const answer = apart !== null && mayRunApart ? answeringApart(operation, { apart, answerHere }) : answerHere
      return { operation, answer, mayRunApart }
    }
    const byContent = Map.groupBy(operations, ({ schema }) => contentTypesOf(schema.body).join(' '))
    for (const group of byContent.values()) {
      const types = contentTypesOf(group.at(0)?.schema.body)
      const [form, stream] = [types.includes('multipart/form-data'), types.includes('application/octet-stream')]
      const addRoutes = (to: FastifyInstance): void => group.forEach((operation) => addRoute(to, routeOf(operation)))
      if (!form && !stream) addRoutes(http)
      // Operations share a context, because it takes as long to create as dozens of routes.
      else
        await http.register(async (context) => {
          if (stream) acceptStreams(context)
          if (form) await acceptForms(context)
          if (form && types.includes('application/json')) acceptJson(context)
          addRoutes(context)
        })
    }
  }
}

function contentTypesOf(body: TSchema | undefined): string[] {
  return body === undefined ? [] : Object.keys(contentOf(body)).toSorted()
}

interface Serving {
  readonly run: RunOperation
  /** Answers that are being sent piece by piece. */
  readonly sending: Set<Readable>
}

function answering(operation: Operation, { run, sending }: Serving): Answering {
  const [mediaType = 'application/json'] = Object.keys(operation.reply.content)
  return async (request, reply) => {
    const result = await run(operation, request, reply)
    if (mediaType !== 'application/json') void reply.type(`${mediaType}; charset=utf-8`)
    if (result instanceof EncodedJson) return sendJson(reply, result.text)
    if (result instanceof Readable) return sendStream(reply, result, sending)
    if (Buffer.isBuffer(result) || reply.hasHeader('content-type')) return result
    return sendJson(reply, await encodeJson(result === undefined ? {} : result, () => request.giveWay()))
  }
}

/** Lets the other process answer the requests that were chosen for it before their bodies were read. */
function answeringApart(
  { id }: Operation,
  { apart, answerHere }: { readonly apart: Apart; readonly answerHere: Answering },
): Answering {
  return async (request, reply) => {
    if (!request.runsApart) return answerHere(request, reply)
    const { caller, params, query, url, body, isHeavy } = request
    const bytes = body instanceof UnparsedBody ? body.bytes : null
    const sent = { operation: id, kind: kindOfRequest(request), caller, params, query, url, body: bytes, isHeavy }
    const end = await apart.run(sent, () => assertStays(reply.raw))
    request.addCost(end.cpuMs)
    if ('answer' in end) return sendJson(reply.headers(end.answer.headers), textOf(end.answer))
    if ('defect' in end) throw end.defect
    throw errorOfRefusal(end.refusal)
  }
}

/** Bytes come from another process as a plain array. */
function textOf({ text }: ApartAnswer): string | Buffer {
  return typeof text === 'string' ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength)
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

interface ServedRoute {
  readonly operation: Operation
  readonly answer: Answering
  readonly mayRunApart: boolean
}

function addRoute(http: FastifyInstance, { operation, answer, mayRunApart }: ServedRoute): void {
  const { method, at: place, checksOnlyChanges } = operation
  const { body, ...schema } = operation.schema
  const unchecked = checksOnlyChanges ? Type.Unknown() : undefined
  const checked = body === undefined ? undefined : (unchecked ?? checkedBodyOf(body))
  http.route({
    method,
    url: place.path,
    // Without a schema, unknown parameters would not be refused.
    schema: { querystring: Type.Object({}), ...schema, ...(checked !== undefined && { body: checked }) },
    config: {
      ...(place.audience === 'nobody' && { public: true }),
      ...(place.beforeSecondFactor && { beforeSecondFactor: true }),
      ...(Object.values(operation.errors).includes(ListErrorReply) && { listsErrors: true }),
      ...(mayRunApart && { mayRunApart }),
      ...(operation.readsSite && { readsSite: true }),
    },
    handler: answer,
  })
}
