import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
} from 'fastify'
import { type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { rolesFor } from '../access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { type At, type Audience, type CallerAt, type Location, type ScopeAt, paramsOf } from './at.ts'
import { takeForms } from './forms.ts'
import { JsonText } from './json-text.ts'
import { takeJson } from './json.ts'
import { takeStreams } from './streams.ts'
import { ErrorReply } from './schemas.ts'

/** One operation of the interface, as it is registered, documented and tested. */
export interface Operation {
  /** As the contract names it. */
  readonly id: string
  readonly method: HTTPMethods
  readonly at: Pick<At<unknown>, 'audience' | 'needs' | 'path' | 'beforeSecondFactor'>
  readonly schema: FastifySchema
  readonly handle: (ctx: Context, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

// oxlint-disable-next-line typescript/no-empty-object-type -- The properties of an object without any.
export type None = {}

/** One schema, or one for the operation of organizations and one for that of sites. */
export type Query = TObject | { readonly org: TObject; readonly site: TObject }
export type QueryOf<Q extends Query> = Q extends TObject
  ? Static<Q>
  : Q extends { readonly org: infer O extends TObject; readonly site: infer S extends TObject }
    ? Static<O> | Static<S>
    : never

/** What `run` knows of the request; all of it has been checked. */
export interface Call<L extends Location, P extends TProperties, Q extends Query, B extends TSchema> {
  readonly scope: ScopeAt<L>
  readonly caller: CallerAt<L>
  readonly params: Static<TObject<P>>
  readonly query: QueryOf<Q>
  readonly body: Static<B>
  /** Path and query, as they came. */
  readonly url: string
  readonly request: FastifyRequest
  /** For headers and cookies: the body of the answer is what `run` returns. */
  readonly reply: FastifyReply
}

/** One text, or one for the operation of organizations and one for that of sites. */
type OneOrTwo<L extends Location, T> = L extends At<unknown, unknown> ? T : { readonly org: T; readonly site: T }

export type MaybePromise<T> = T | Promise<T>

/** What every declaration says, whatever it answers. */
export interface Heading<L extends Location, P extends TProperties, Q extends Query> {
  readonly id: OneOrTwo<L, string>
  /** What it does: one line that starts with a verb, without a final period. */
  readonly summary: OneOrTwo<L, string>
  /** Under which the document lists it; one of those of the contract. */
  readonly tag: OneOrTwo<L, string>
  readonly at: L
  /** Parameters of the path beyond those that say where. */
  readonly params?: P
  readonly query?: Q
  /** Schemas of errors by status, where the place and the parameters don't imply them or a body is not the usual one. */
  readonly errors?: Readonly<Record<number, TSchema>>
}

/** What `run` may return: nothing, where the reply has no fields. */
export type Result<R extends TSchema> = Static<R> | JsonText<Static<R>> | (keyof Static<R> extends never ? void : never)

/**
 * Declares an operation: its path, who may call it, what it takes and answers, and what it does. Nothing else registers
 * one, so no caller comes in but by `at`.
 *
 * @returns Two operations where `at` is an organization and a site, else one.
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
     * A form, which `run` reads with readForm(), where its `content` says `multipart/form-data`; a stream, whatever
     * content type the client declares, where it says `application/octet-stream`.
     */
    readonly body?: B
    /** Of the answer with status 200. */
    readonly reply: R
    /** Of that answer, where it is a text of another type than JSON. */
    readonly mediaType?: string
    readonly run: (ctx: Context, call: Call<L, P, Q, B>) => MaybePromise<Result<R>>
  },
): Operation[] {
  const { at: location, id, summary, tag, query, ...rest } = declared
  if ('enter' in location) return [operationAt(location, { ...rest, ...headed({ id, summary, tag }, query) })]
  return (['org', 'site'] as const).map((twin) => {
    const ofTwin = (value: unknown): unknown => Reflect.get(Object(value), twin)
    return operationAt(location[twin], {
      ...rest,
      ...headed({ id: ofTwin(id), summary: ofTwin(summary), tag: ofTwin(tag) }, ofTwin(query) ?? query),
    })
  })
}

/** Of one of the twins, whose types the declaration has checked. */
function headed(
  { id, summary, tag }: Readonly<Record<'id' | 'summary' | 'tag', unknown>>,
  query: unknown,
): Pick<Declared, 'id' | 'summary' | 'tag' | 'query'> {
  return {
    id: String(id),
    summary: String(summary),
    tag: String(tag),
    ...(query !== undefined && { query: query as TObject }),
  }
}

interface Declared {
  readonly id: string
  readonly summary: string
  readonly tag: string
  readonly method: HTTPMethods
  readonly params?: TProperties
  readonly query?: TSchema
  readonly body?: TSchema
  readonly errors?: Readonly<Record<number, TSchema>>
  readonly reply: TSchema
  readonly mediaType?: string
  // oxlint-disable-next-line typescript/no-explicit-any -- `operation` has checked that the parts belong together.
  readonly run: (ctx: Context, call: any) => unknown
}

function operationAt(place: At<unknown, unknown>, declared: Declared): Operation {
  const { id, summary, tag, method, params, query, body, errors, reply, mediaType, run } = declared
  const path = paramsOf(place, params ?? {})
  assertParams(id, place.path, Object.keys(path.properties))
  return {
    id,
    method,
    at: place,
    schema: {
      operationId: id,
      summary,
      tags: [tag],
      description: describeAudience(place),
      ...(Object.keys(path.properties).length > 0 && { params: path }),
      ...(query !== undefined && { querystring: query }),
      ...(body !== undefined && { body }),
      response: {
        200: mediaType === undefined ? reply : { content: { [mediaType]: { schema: reply } } },
        ...errorsOf(place, {
          takes: Object.keys(path.properties).length > 0 || query !== undefined || body !== undefined,
        }),
        ...errors,
      },
      ...(place.audience === 'nobody' && { security: [] }),
    },
    handle: async (ctx, request, answer) => {
      const { query, body, url } = request
      const params = request.params as Readonly<Record<string, string>> // as the schema has checked them
      const entered = await place.enter(ctx, place.audience === 'nobody' ? undefined : request.caller, params)
      const result = await run(ctx, { ...entered, params, query, body, url, request, reply: answer })
      if (mediaType !== undefined) void answer.type(`${mediaType}; charset=utf-8`)
      if (result instanceof JsonText) return answer.type('application/json; charset=utf-8').send(result.text)
      return result === undefined ? {} : result
    },
  }
}

const whereRoleCounts: Record<Audience, string> = {
  org: 'in the whole organization',
  orgSites: 'in the organization or in some of its sites',
  site: 'in the site',
  installer: 'in the organization or in some of its sites',
  person: '',
  self: '',
  nobody: '',
}

/** Who may call, for people who read the document. */
function describeAudience({
  audience,
  needs,
  beforeSecondFactor,
}: Pick<At<unknown>, 'audience' | 'needs' | 'beforeSecondFactor'>): string {
  if (needs !== null) return `For the roles ${rolesFor(needs).join(', ')} ${whereRoleCounts[audience]}.`
  if (audience === 'nobody') return 'Without credentials.'
  const who =
    audience === 'person'
      ? 'For anybody with an account; not for the API token of an organization.'
      : 'For anybody with credentials.'
  return beforeSecondFactor ? `${who} Open to a session whose second factor is still missing.` : who
}

/** The statuses of errors that the operation answers by design, besides those that every server has. */
function errorsOf(
  { audience, needs, path }: Pick<At<unknown>, 'audience' | 'needs' | 'path'>,
  { takes }: { takes: boolean },
) {
  return {
    ...(takes && { 400: ErrorReply }),
    ...(audience !== 'nobody' && { 401: ErrorReply }),
    ...((needs !== null || audience === 'person') && { 403: ErrorReply }),
    ...(path.includes(':') && { 404: ErrorReply }),
    429: ErrorReply,
  }
}

function assertParams(id: string, path: string, declared: readonly string[]): void {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  if (new Set(inPath).symmetricDifference(new Set(declared)).size > 0)
    throw new Error(`${id} declares the parameters ${declared.join()}, but its path is ${path}`)
}

/** Registers operations; under /api/v1. */
export function serveOperations(ctx: Context, operations: readonly Operation[]): FastifyPluginAsync {
  return async (http) => {
    for (const operation of operations) {
      const content: object = Object(Reflect.get(Object(operation.schema.body), 'content'))
      const [form, stream] = ['multipart/form-data' in content, 'application/octet-stream' in content]
      if (!form && !stream) addRoute(http, ctx, operation)
      else
        await http.register(async (context) => {
          if (stream) takeStreams(context)
          if (form) await takeForms(context)
          if (form && 'application/json' in content) takeJson(context)
          addRoute(context, ctx, operation)
        })
    }
  }
}

function addRoute(http: FastifyInstance, ctx: Context, { method, at: place, schema, handle }: Operation): void {
  http.route({
    method,
    url: place.path,
    schema,
    config: {
      ...(place.audience === 'nobody' && { public: true }),
      ...(place.beforeSecondFactor && { beforeSecondFactor: true }),
    },
    handler: (request, reply) => handle(ctx, request, reply),
  })
}
