import { type TObject, type TProperties, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { rolesFor } from '../../access/authorize.ts'
import type { Audience } from '../at.ts'
import { type Operation, contentOf } from '../operation.ts'
import { ErrorReply, nameOf } from '../schemas.ts'
import { publishError } from './errors.ts'
import { type Components, type Published, publishSchema } from './publish-schema.ts'
import { tags } from './tags.ts'
import { publishWebhooks } from './webhooks.ts'

const PREFIX = '/api/v1'

interface Collected {
  readonly schemas: Components
  readonly parameters: Components
  readonly responses: Components
}

/** The OpenAPI 3.1 document of the operations: paths and components by name, whatever the order of the declarations. */
export function makeDocument(operations: readonly Operation[], version: string): Published {
  const collected: Collected = { schemas: new Map(), parameters: new Map(), responses: new Map() }
  const paths = new Map<string, Record<string, Published>>()
  for (const operation of operations) {
    const path = PREFIX + operation.at.path.replaceAll(/:(\w+)(\(.*?\))?/g, '{$1}')
    const item = paths.get(path) ?? {}
    item[String(operation.method).toLowerCase()] = publishOperation(operation, collected)
    paths.set(path, item)
  }
  const webhooks = publishWebhooks(collected.schemas)
  const used = new Set<string>(operations.map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version,
      description:
        'Network management that you run yourself. A path with a method that it does not have answers 405 with `Allow`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The installation that serves this document' }],
    security: [{ token: [] }, { session: [] }, { basic: [] }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    webhooks,
    paths: byName([...paths].map(([path, item]) => [path, byName(Object.entries(item), methods)])),
    components: {
      securitySchemes,
      schemas: byName(collected.schemas),
      parameters: byName(collected.parameters),
      responses: byName(collected.responses),
    },
  }
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

const securitySchemes = {
  token: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`Token <key>`' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sessionid',
    description:
      '`__Host-sessionid` under HTTPS. What changes something also needs the header `X-CSRFToken` with the value of the cookie `csrftoken`',
  },
  basic: { type: 'http', scheme: 'basic', description: 'Address and password' },
}

/** In the order of `first`, then of the alphabet. */
function byName<T>(entries: Iterable<readonly [string, T]>, first: readonly string[] = []): Record<string, T> {
  const rank = (name: string): number => (first.includes(name) ? first.indexOf(name) : first.length)
  return Object.fromEntries([...entries].toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : Number(a > b))))
}

function publishOperation(operation: Operation, collected: Collected): Published {
  const { id, summary, tag, at, schema } = operation
  const parameters = [
    ...publishParameters('path', schema.params, collected),
    ...publishParameters('query', schema.querystring, collected),
  ]
  return {
    operationId: id,
    summary,
    description: describeAudience(at),
    tags: [tag],
    'x-audience': at.audience,
    ...(at.needs !== null && { 'x-roles': rolesFor(at.needs) }),
    ...(parameters.length > 0 && { parameters }),
    ...(schema.body !== undefined && { requestBody: publishBody(schema.body, collected) }),
    responses: publishResponses(operation, collected),
    ...(at.audience === 'nobody' && { security: [] }),
  }
}

function publishParameters(place: 'path' | 'query', schema: TObject | undefined, collected: Collected): Published[] {
  if (schema === undefined) return []
  const required = new Set<string>(schema.required)
  return Object.entries(schema.properties).map(([name, property]) => {
    const shared = nameOf(property)
    const parameter = Object.assign({ name, in: place, required: required.has(name) }, parameterOf(property))
    if (shared === undefined) return parameter
    collected.parameters.set(shared, parameter)
    return { $ref: `#/components/parameters/${shared}` }
  })
}

/** The description of a parameter is in its schema. */
function parameterOf(property: TSchema): Published {
  const components: Components = new Map()
  const published = publishSchema(property, components)
  const { description, deprecated, ...schema } = components.get(nameOf(property) ?? '') ?? published
  return {
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    schema,
  }
}

/** An empty body counts as `{}`: it is required where that is not enough. */
function publishBody(body: TSchema, { schemas }: Collected): Published {
  const content = contentOf(body)
  const json = content['application/json']
  return {
    required: json === undefined || !Value.Check(json, {}),
    content: publishContent(content, schemas),
  }
}

function publishContent(content: Readonly<Record<string, TSchema>>, schemas: Components): Published {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [type, { schema: publishSchema(schema, schemas) }]),
  )
}

function publishResponses(operation: Operation, collected: Collected): Published {
  const { content, headers } = operation.reply
  const errors = { ...impliedErrors(operation), ...operation.errors }
  return {
    200: {
      description: headers === undefined ? 'Done' : 'One page',
      ...(headers !== undefined && { headers: publishHeaders(headers) }),
      content: publishContent(content, collected.schemas),
    },
    ...Object.fromEntries(
      Object.entries(errors).map(([status, schema]) => [status, publishError(Number(status), schema, collected)]),
    ),
  }
}

function publishHeaders(headers: TProperties): Published {
  return Object.fromEntries(Object.entries(headers).map(([name, schema]) => [name, parameterOf(schema)]))
}

/** Returns the errors that an operation answers by design because of its place and of its input. */
function impliedErrors({ at, schema }: Pick<Operation, 'at' | 'schema'>): Record<number, TSchema> {
  const { audience, path } = at
  const { body } = schema
  const types = body === undefined ? [] : Object.keys(contentOf(body))
  const answered: Readonly<Record<number, boolean>> = {
    // Every operation refuses query parameters that it does not know.
    400: true,
    401: audience !== 'nobody',
    // Tokens may be limited to addresses, and sessions need their CSRF token, whatever the role.
    403: audience !== 'nobody',
    404: path.includes(':'),
    413: body !== undefined,
    // A segment of the path, or the query with the headers, may be too long for any operation to be found.
    414: path.includes(':'),
    // A stream is accepted with any content type.
    415: body !== undefined && !types.includes('application/octet-stream'),
    429: true,
    431: true,
    // The database may fail in any operation.
    503: true,
  }
  const statuses = Object.keys(answered).map(Number)
  return Object.fromEntries(statuses.filter((status) => answered[status]).map((status) => [status, ErrorReply]))
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

/** Describes the possible callers, for readers of the document. */
function describeAudience({ audience, needs, beforeSecondFactor }: Operation['at']): string {
  if (needs !== null) return `For the roles ${rolesFor(needs).join(', ')} ${whereRoleCounts[audience]}.`
  if (audience === 'nobody') return 'Without credentials.'
  const who =
    audience === 'person'
      ? 'For anybody with an account; not for the API token of an organization.'
      : 'For anybody with credentials.'
  return beforeSecondFactor ? `${who} Open to a session whose second factor is still missing.` : who
}
