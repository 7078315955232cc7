import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accountOf } from '../../access/request-limits.ts'
import type { Context } from '../../platform/context.ts'
import { isLockTimeout } from '../../platform/database/database-errors.ts'
import { AppError } from '../../platform/errors.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { decodeText, parseJsonBody } from '../bodies/body.ts'
import { EncodedJson, encodeJson } from '../bodies/encode-json.ts'
import { databaseFailureOf, logDatabaseFailure } from '../errors.ts'
import { type Operation, contentOf } from '../operation.ts'
import { type RunOperation, createRunOperation } from '../run-operation.ts'
import { createRequestCosts } from '../turns/costs/request-costs.ts'
import { compileValidator } from '../validate.ts'
import { type ApartAnswer, type ApartEnd, type ApartLocked, type ApartRequest, refusalOf } from './messages.ts'

/** True for an operation that may run in another process: all is JSON, and it locks nothing that others wait for. */
export function mayRunApart({ method, locksOnlyItsRecord, reply, schema: { body } }: Operation): boolean {
  const types = [...Object.keys(reply.content), ...Object.keys(body === undefined ? {} : contentOf(body))]
  return (method === 'GET' || locksOnlyItsRecord) && types.every((type) => type === 'application/json')
}

interface RunApartOptions {
  /** Milliseconds of processor time that this process has used. */
  readonly cpuMs: () => number
}

/**
 * Runs requests of operations for the process that serves their clients. That process has authenticated the caller and has
 * checked path and query; the body is parsed and checked here.
 * @param ctx Its connections limit how long a statement waits for a lock.
 * @param operations Only those for which mayRunApart() is true.
 */
export function createRunApart(
  ctx: Context,
  operations: readonly Operation[],
  { cpuMs }: RunApartOptions,
): (request: ApartRequest) => Promise<ApartEnd | ApartLocked> {
  const run = createRunOperation(ctx, operations)
  const known = new Map(operations.map((operation) => [operation.id, { operation, check: bodyCheckOf(operation) }]))
  const costs = createRequestCosts(cpuMs, { dividesUnknown: true })
  return async (request) => {
    const measured = costs.measure(`${accountOf(request.caller.principal)} ${request.kind}`)
    try {
      const found = known.get(request.operation)
      if (found === undefined) throw new Error(`The operation ${request.operation} can't run in this process`)
      const answer = await answerTo(request, { ...found, run })
      return { answer, cpuMs: measured('whole') }
    } catch (error) {
      if (isLockTimeout(error)) return { isLocked: true, cpuMs: measured('refused') }
      if (error instanceof AppError) return { refusal: refusalOf(error), cpuMs: measured('refused') }
      // The other process would not know its class any more.
      const failure = databaseFailureOf(error)
      if (failure !== undefined) {
        logDatabaseFailure(ctx.log, error)
        return { refusal: refusalOf(failure), cpuMs: measured('refused') }
      }
      return { defect: plainErrorOf(error), cpuMs: measured('refused') }
    }
  }
}

type BodyCheck = (bytes: Uint8Array | null) => unknown

/** @returns A function that returns the body. It throws what the route would answer. */
function bodyCheckOf({ schema: { body }, checksOnlyChanges }: Operation): BodyCheck {
  if (body === undefined) return (bytes) => (bytes === null ? undefined : parse(bytes))
  const schema = checksOnlyChanges ? Type.Unknown() : body
  const validate = compileValidator({ schema, httpPart: 'body', method: '', url: '' })
  return (bytes) => {
    const checked: unknown = validate(bytes === null ? {} : parse(bytes))
    if (typeof checked !== 'object' || checked === null) throw new Error('unreachable: the validator returns an object')
    if ('error' in checked) throw checked.error
    return Reflect.get(checked, 'value')
  }
}

function parse(bytes: Uint8Array): unknown {
  return parseJsonBody(decodeText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
}

interface Running {
  readonly operation: Operation
  readonly check: BodyCheck
  readonly run: RunOperation
}

async function answerTo(sent: ApartRequest, { operation, check, run }: Running): Promise<ApartAnswer> {
  const { params, query, url, caller, isHeavy } = sent
  const request = { params, query, url, caller, isHeavy, body: check(sent.body), giveWay: nextTurn }
  const headers: Record<string, string | number> = {}
  const reply = {
    request,
    header: (name: string, value: string | number) => void (headers[name] = value),
    headers: (values: Readonly<Record<string, string | number>>) => void Object.assign(headers, values),
  }
  // Operations that answer with JSON use no other members.
  const result = await run(operation, request as unknown as FastifyRequest, reply as unknown as FastifyReply)
  const text = result instanceof EncodedJson ? result.text : await encodeJson(result === undefined ? {} : result)
  return { headers, text }
}

/** The cause of an error, such as a socket, can't pass to another process. */
function plainErrorOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { message, stack } = error
  return Object.assign(new Error(message), { stack })
}
