import type { TSchema } from 'typebox'
import { type Components, type Published, publishSchema } from './publish-schema.ts'
import { ErrorReply } from '../schemas.ts'

interface SharedError {
  readonly name: string
  readonly description: string
  readonly headers?: Published
}

/** The errors that operations share, by status. */
const sharedErrors: Readonly<Record<number, SharedError>> = {
  400: { name: 'BadRequest', description: 'A value of the request is not allowed, or the state of things forbids it' },
  401: {
    name: 'Unauthorized',
    description: 'Credentials are missing or do not count',
    headers: { 'WWW-Authenticate': { description: 'how to authenticate', schema: { type: 'string' } } },
  },
  403: {
    name: 'Forbidden',
    description: 'The role of the caller does not allow it, or the credentials do not: an address, a CSRF token',
  },
  404: { name: 'NotFound', description: 'There is no such object, or the caller may not know of it' },
  409: { name: 'Conflict', description: 'Facts that the request relies on have changed' },
  413: { name: 'ContentTooLarge', description: 'The body, or the record with it, is too large' },
  414: { name: 'UriTooLong', description: 'A segment of the path is too long' },
  415: { name: 'UnsupportedMediaType', description: 'The operation does not accept the content type of the body' },
  429: {
    name: 'TooManyRequests',
    description: 'The caller has to wait',
    headers: {
      'Retry-After': { description: 'seconds after which another try makes sense', schema: { type: 'integer' } },
    },
  },
  431: {
    name: 'RequestHeaderFieldsTooLarge',
    description: 'The headers, with the path and the query, are too large',
  },
  503: {
    name: 'Unavailable',
    description: 'Something that the service depends on, such as its database, does not work now',
    headers: {
      'Retry-After': {
        description: 'seconds after which another try makes sense, if known',
        schema: { type: 'integer' },
      },
    },
  },
}

/** The answer of an error: shared where its body is the usual one. */
export function publishError(
  status: number,
  schema: TSchema,
  { schemas, responses }: { readonly schemas: Components; readonly responses: Components },
): Published {
  const shared = sharedErrors[status]
  if (shared === undefined) throw new Error(`No description of errors with status ${status}`)
  const { name, ...rest } = shared
  const response = { ...rest, content: { 'application/json': { schema: publishSchema(schema, schemas) } } }
  if (schema !== ErrorReply) return response
  responses.set(name, response)
  return { $ref: `#/components/responses/${name}` }
}
