import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Value } from 'typebox/value'
import { isObject } from '../platform/json/is-object.ts'
import { Uuid } from './schemas.ts'

/** Thrown if a route matches a path only because one of its parameters accepts any text, such as an invalid id. */
export class NoSuchPath extends Error {
  override readonly name = 'NoSuchPath'
}

interface AddedRoute {
  readonly method: string
  readonly url: string
  /** The schema of its parameters. */
  readonly params: unknown
}

interface ServedPath {
  readonly method: string
  readonly segments: readonly RegExp[]
  /** True if any segments may follow. */
  readonly open: boolean
  /** Positions of the segments that must be UUIDs. */
  readonly ids: readonly number[]
}

/**
 * Records every route that is added from now on.
 *
 * @returns The answer to a request that no route serves: 405 if the path is served with other methods, else 404.
 */
export function trackServedPaths(http: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const added: AddedRoute[] = []
  let served: readonly ServedPath[] | null = null
  http.addHook('onRoute', ({ method, url, schema }) => {
    for (const one of [method].flat()) added.push({ method: one, url, params: schema?.params })
  })
  return (request, reply) => {
    // All routes are added before the first request; the patterns of a thousand would take a tenth of the start.
    served ??= added.map(servedPathOf)
    const path = pathOf(request)
    const segments = path.split('/')
    const methods = served.filter((candidate) => matches(candidate, segments)).map(({ method }) => method)
    const allowed = [...new Set(methods)].toSorted()
    if (allowed.length === 0) void reply.code(404).send({ detail: 'Not found.', path })
    else
      void reply
        .code(405)
        .header('allow', allowed.join(', '))
        .send({ detail: `Method ${request.method} is not allowed here, only ${allowed.join(', ')}`, path })
  }
}

function servedPathOf({ method, url, params }: AddedRoute): ServedPath {
  const open = url.endsWith('*')
  const segments = (open ? url.slice(0, -1).replace(/\/$/, '') : url).split('/')
  return {
    method,
    open,
    segments: segments.map(patternOf),
    ids: segments.flatMap((segment, at) => (isUuidParameter(segment, params) ? [at] : [])),
  }
}

/**
 * Returns the pattern of a segment such as `sites`, `:site_id`, `image:image_number` or `:image_name(^image[1-3]$)`.
 */
function patternOf(segment: string): RegExp {
  const [, prefix = segment, name, pattern = '.+'] = /^(.*?):(\w+)(?:\(\^?(.*?)\$?\))?$/.exec(segment) ?? []
  return new RegExp(`^${RegExp.escape(prefix)}${name === undefined ? '' : `(?:${pattern})`}$`)
}

function isUuidParameter(segment: string, params: unknown): boolean {
  const properties: unknown = isObject(params) ? params['properties'] : undefined
  const schema = isObject(properties) ? properties[segment.slice(1)] : undefined
  return segment.startsWith(':') && isUuidSchema(schema)
}

export function isUuidSchema(schema: unknown): boolean {
  return isObject(schema) && schema['format'] === 'uuid'
}

function matches({ segments, open, ids }: ServedPath, path: readonly string[]): boolean {
  if (open ? path.length < segments.length : path.length !== segments.length) return false
  return segments.every((pattern, at) => pattern.test(path[at] ?? '')) && ids.every((at) => Value.Check(Uuid, path[at]))
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? url
}
