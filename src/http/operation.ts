import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { Context } from '../platform/context.ts'
import { acceptedQuery } from './accepted-parameters.ts'
import { type At, type CallerAt, type Location, type ScopeAt, paramsOf } from './at.ts'
import { checkChanges } from './bodies/check-changes.ts'
import { assertNoFields, closeBody, withUnsets } from './bodies/closed-bodies.ts'
import type { EncodedJson } from './bodies/encode-json.ts'
import { type RecordName, assertReadOnly, hasReadOnly, isRecordName } from './read-only-fields.ts'
import { nameOf } from './schemas.ts'
import type { Tag } from './openapi/tags.ts'

/** An operation of the interface. Its route, its documentation and the access matrix are made from it. */
export interface Operation {
  /** The id in the contract. */
  readonly id: string
  readonly method: HTTPMethods
  /** One line about its effect. */
  readonly summary: string
  readonly tag: Tag
  readonly at: Pick<At<unknown>, 'audience' | 'needs' | 'path' | 'beforeSecondFactor'>
  /** The checks of each request; that of the body is a part of `run` if `checksOnlyChanges`. */
  readonly schema: {
    readonly params?: TObject
    readonly querystring?: TObject
    readonly body?: TSchema
  }
  /** The answer with status 200. */
  readonly reply: {
    /** By content type. */
    readonly content: Readonly<Record<string, TSchema>>
    readonly headers?: TProperties
  }
  /** Schemas of the errors that are declared one by one, by status. */
  readonly errors: Readonly<Record<number, TSchema>>
  /** See operation(). */
  readonly locksOnlyItsRecord: boolean
  /** See operation(). */
  readonly readsSite: boolean
  /** See operation(). */
  readonly checksOnlyChanges: boolean
  /** The record that it updates; null if it updates none that has read-only fields. */
  readonly updates: { readonly name: RecordName; readonly isReadHere: boolean } | null
  /**
   * Authorizes and runs it.
   * @param read Reads the record that it updates.
   */
  readonly run: (...args: [...RequestArgs, read?: (...args: RequestArgs) => Promise<unknown>]) => Promise<unknown>
}

type RequestArgs = [ctx: Context, request: FastifyRequest, reply: FastifyReply]

// oxlint-disable-next-line typescript/no-empty-object-type -- The properties of an object without any.
export type None = {}

/** One schema, or one for the operation of organizations and one for that of sites. */
export type Query = TObject | { readonly org: TObject; readonly site: TObject }
export type QueryOf<Q extends Query> = Q extends TObject
  ? Static<Q>
  : Q extends { readonly org: infer O extends TObject; readonly site: infer S extends TObject }
    ? Static<O> | Static<S>
    : never

/** The input of `run`. Path, query and body match their schemas; `run` checks forms and streams itself. */
export interface Call<L extends Location, P extends TProperties, Q extends Query, B extends TSchema> {
  readonly scope: ScopeAt<L>
  readonly caller: CallerAt<L>
  readonly params: Static<TObject<P>>
  readonly query: QueryOf<Q>
  readonly body: Static<B>
  /** Path and query, as the client sent them. */
  readonly url: string
  readonly request: FastifyRequest
  /** For headers and cookies only: the result of `run` is the body. */
  readonly reply: FastifyReply
}

/** One text, or one for the operation of organizations and one for that of sites. */
type OneOrTwo<L extends Location, T> = L extends At<unknown, unknown> ? T : { readonly org: T; readonly site: T }

export type MaybePromise<T> = T | Promise<T>

/** The members that all declarations have. */
export interface Heading<L extends Location, P extends TProperties, Q extends Query> {
  readonly id: OneOrTwo<L, string>
  /** One line about its effect, which starts with a verb and has no final period. */
  readonly summary: OneOrTwo<L, string>
  /** The group in the document; one of the contract's. */
  readonly tag: OneOrTwo<L, Tag>
  readonly at: L
  /** Parameters of the path besides those of the place. */
  readonly params?: P
  readonly query?: Q
  /** Schemas of errors by status, where the place and the parameters don't imply them or a body is not the usual one. */
  readonly errors?: Readonly<Record<number, TSchema>>
}

/**
 * The result of `run`: nothing if the reply has no fields; bytes if it sets their content type; a stream of the reply's
 * text if it is too large for memory.
 */
export type Result<R extends TSchema> =
  | Static<R>
  | EncodedJson<Static<R>>
  | Readable
  | Buffer
  | (keyof Static<R> extends never ? void : never)

/**
 * Declares an operation: its path, its callers, its input and output, and its implementation. Operations can't be
 * registered in any other way, so every caller is authorized by `at`.
 *
 * @returns Two operations if `at` is an organization and a site, else one.
 */
export function operation<
  L extends Location,
  R extends TSchema,
  P extends TProperties = None,
  Q extends Query = TObject<None>,
  B extends TSchema = TObject<None>,
>(
  declared: Heading<L, P, Q> & {
    readonly method: HTTPMethods
    /**
     * A form, which `run` reads with readForm(), if its `content` is `multipart/form-data`; a stream, whatever content
     * type the client declares, if it is `application/octet-stream`. Objects in it without `additionalProperties`
     * accept only the fields that they declare; see closeBody().
     */
    readonly body?: B
    /** The answer with status 200. */
    readonly reply: R
    /** The record before an update, as answers show it; by default the answer to GET at the same path. */
    readonly record?: (ctx: Context, call: Call<L, P, Q, B>) => Promise<unknown>
    /** The content type of that answer, if it is a text other than JSON. */
    readonly mediaType?: string
    /** Schemas of that answer by further content types, if `run` sets the type. */
    readonly otherReplies?: Readonly<Record<string, TSchema>>
    /** Headers of that answer, which `run` sets. */
    readonly headers?: TProperties
    /**
     * True for a change that may run at a low priority, because its locks delay no device and no other organization. Its
     * transaction must not query outside of it.
     */
    readonly locksOnlyItsRecord?: boolean
    /** True if `run` uses the content of its site in the caller, where it is if a token was read together with it. */
    readonly readsSite?: boolean
    /**
     * True for an update that accepts the fields of its record with their present values, also those that were stored before
     * their fields were checked. `run` gets no such value but null.
     */
    readonly checksOnlyChanges?: boolean
    readonly run: (ctx: Context, call: Call<L, P, Q, B>) => MaybePromise<Result<R>>
  },
): Operation[] {
  const { at: location, ...rest } = declared
  if ('enter' in location) return [operationAt(location, rest as Declared)]
  return (['org', 'site'] as const).map((twin) => operationAt(location[twin], declaredOf(rest, twin)))
}

/** Returns the declaration of one of the twins. The compiler has checked its types. */
function declaredOf(declared: object, twin: 'org' | 'site'): Declared {
  const entries = Object.entries(declared).map(([key, value]) => [
    key,
    varying.has(key) ? (Reflect.get(Object(value), twin) ?? value) : value,
  ])
  return Object.fromEntries(entries) as Declared
}

/** The members that twins may declare separately. */
const varying: ReadonlySet<string> = new Set(['id', 'summary', 'tag', 'query'])

interface Declared {
  readonly id: string
  readonly summary: string
  readonly tag: Tag
  readonly method: HTTPMethods
  readonly params?: TProperties
  readonly query?: TObject
  readonly body?: TSchema
  readonly errors?: Readonly<Record<number, TSchema>>
  readonly reply: TSchema
  readonly mediaType?: string
  readonly otherReplies?: Readonly<Record<string, TSchema>>
  readonly headers?: TProperties
  readonly locksOnlyItsRecord?: boolean
  readonly readsSite?: boolean
  readonly checksOnlyChanges?: boolean
  // oxlint-disable-next-line typescript/no-explicit-any -- `operation` has checked that the parts belong together.
  readonly run: (ctx: Context, call: any) => unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- As `run`.
  readonly record?: (ctx: Context, call: any) => Promise<unknown>
}

function operationAt(place: At<unknown, unknown>, declared: Declared): Operation {
  const { id, summary, tag, method, params, query, body, errors = {}, run } = declared
  const { reply, mediaType = 'application/json', otherReplies, headers, record } = declared
  const { locksOnlyItsRecord = false, readsSite = false, checksOnlyChanges = false } = declared
  const name = nameOf(reply)
  const updates = isRecordName(name) && (method === 'PUT' || record) ? { name, isReadHere: record !== undefined } : null
  const path = paramsOf(place, params ?? {})
  assertParams(id, place.path, Object.keys(path.properties))
  const accepted = acceptedQuery(id)
  const known = Object.keys(accepted).length === 0 ? query : Type.Object({ ...query?.properties, ...accepted })
  const checkedBody = body === undefined ? undefined : withUnsets(closeBody(body), method === 'PUT')
  return {
    id,
    method,
    summary,
    tag,
    at: place,
    schema: {
      ...(Object.keys(path.properties).length > 0 && { params: path }),
      ...(known !== undefined && { querystring: known }),
      ...(checkedBody !== undefined && { body: checkedBody }),
    },
    reply: { content: { [mediaType]: reply, ...otherReplies }, ...(headers !== undefined && { headers }) },
    errors,
    updates,
    locksOnlyItsRecord,
    readsSite,
    checksOnlyChanges,
    run: async (ctx, request, answer, read) => {
      const { query, body, url } = request
      const params = request.params as Readonly<Record<string, string>> // as the schema has checked them
      const entered = await place.enter(ctx, place.audience === 'nobody' ? undefined : request.caller, params)
      const call = { ...entered, params, query, body, url, request, reply: answer }
      if (declared.body === undefined && method !== 'GET') assertNoFields(body)
      const readRecord = async () => record?.(ctx, call) ?? read?.(ctx, request, answer)
      const changes =
        checksOnlyChanges && checkedBody !== undefined ? await checkChanges(checkedBody, body, readRecord) : body
      if (updates !== null && hasReadOnly(updates.name, body)) assertReadOnly(updates.name, body, await readRecord())
      return run(ctx, { ...call, body: changes })
    },
  }
}

function assertParams(id: string, path: string, declared: readonly string[]): void {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  if (new Set(inPath).symmetricDifference(new Set(declared)).size > 0)
    throw new Error(`${id} declares the parameters ${declared.join()}, but its path is ${path}`)
}

/** The schemas of a body by content type. */
export function contentOf(body: TSchema): Readonly<Record<string, TSchema>> {
  if (!('content' in body)) return { 'application/json': body }
  const content = body.content as Readonly<Record<string, { readonly schema: TSchema }>>
  return Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema]))
}
