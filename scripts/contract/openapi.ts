/** A JSON Schema object, or any other value in its place in the document. */
export type Schema = Readonly<Record<string, unknown>>

/** The parts of an OpenAPI document that are compared. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** The messages to receivers of webhooks, by topic. */
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface Operation {
  readonly id: string
  /** In upper case. */
  readonly method: string
  /** As in the document, such as /api/v1/orgs/{org_id}. */
  readonly path: string
  readonly tags: readonly string[]
  readonly query: ReadonlyMap<string, Schema>
  /** The schema of the JSON body; null without one. */
  readonly body: Schema | null
  /** The schema of the form that it takes; null without one. */
  readonly form: Schema | null
  /** The schema of the JSON answer with status 200; null without one. A webhook's message counts as its answer. */
  readonly reply: Schema | null
  /** True if its answer is not JSON, for example a file. */
  readonly answersFile: boolean
  /** True if it is the message of a webhook's topic. */
  readonly isTopic: boolean
  readonly document: Document
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const NO_SCHEMA: Schema = {}

/**
 * Lists the operations by method and path, with unnamed path parameters, because documents name the same parameter
 * differently.
 */
export function operationsOf(document: Document): Map<string, Operation> {
  const operations = new Map<string, Operation>()
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS) {
      const spec = item[method]
      if (!isSchema(spec)) continue
      const operation = readOperation(document, { path, item, method, spec })
      if (path.startsWith(EXAMPLES)) operations.set(topicKey(path.slice(EXAMPLES.length)), messageOf(operation))
      else operations.set(keyOf(method, path), operation)
    }
  for (const [topic, item] of Object.entries(document.webhooks ?? {}))
    if (isSchema(item['post']))
      operations.set(
        topicKey(topic),
        messageOf(readOperation(document, { path: topic, item, method: 'post', spec: item['post'] })),
      )
  return operations
}

/** The place where a contract of a release before OpenAPI 3.1 describes messages to receivers of webhooks. */
const EXAMPLES = '/webhook_example/'

/** Topics are spelled in several ways: `_audit_`, `audits`, `device_events`, `device-events`. */
function topicKey(topic: string): string {
  return `WEBHOOK ${topic
    .replaceAll(/^_+|_+$/g, '')
    .replaceAll('_', '-')
    .replace(/s$/, '')}`
}

/** Clients don't send the message: they get it. */
function messageOf({ body, ...operation }: Operation): Operation {
  return { ...operation, body: null, reply: body, isTopic: true }
}

function keyOf(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`
}

interface Place {
  readonly path: string
  readonly item: Schema
  readonly method: string
  readonly spec: Schema
}

function readOperation(document: Document, { path, item, method, spec }: Place): Operation {
  const parameters = [...listOf(item['parameters']), ...listOf(spec['parameters'])]
    .map((parameter) => resolve(document, parameter))
    .filter((parameter) => parameter['in'] === 'query')
  const responses = isSchema(spec['responses']) ? spec['responses'] : {}
  return {
    id: typeof spec['operationId'] === 'string' ? spec['operationId'] : '',
    method: method.toUpperCase(),
    path,
    tags: listOf(spec['tags']).map(String),
    query: new Map(
      parameters.map(({ name, schema }) => [String(name), isSchema(schema) ? resolve(document, schema) : NO_SCHEMA]),
    ),
    body: schemaOf(document, spec['requestBody'], 'application/json'),
    form: schemaOf(document, spec['requestBody'], 'multipart/form-data'),
    reply: schemaOf(document, responses['200'], 'application/json'),
    answersFile: typesOf(document, responses['200']).some((type) => type !== 'application/json'),
    isTopic: false,
    document,
  }
}

function contentOf(document: Document, holder: unknown): Schema {
  const { content } = resolve(document, holder)
  return isSchema(content) ? content : NO_SCHEMA
}

function typesOf(document: Document, holder: unknown): string[] {
  return Object.keys(contentOf(document, holder))
}

function schemaOf(document: Document, holder: unknown, type: string): Schema | null {
  const media = contentOf(document, holder)[type]
  return isSchema(media) && isSchema(media['schema']) ? media['schema'] : null
}

/** Follows references, and merges the parts of `allOf` into one schema. */
export function resolve(document: Document, schema: unknown): Schema {
  if (!isSchema(schema)) return NO_SCHEMA
  const { $ref, allOf, ...own } = schema
  if (typeof $ref === 'string') return resolve(document, find(document, $ref))
  if (!Array.isArray(allOf)) return schema
  const parts = [...allOf.map((part) => resolve(document, part)), own]
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => listOf(required)),
  }
}

function find(document: Document, ref: string): unknown {
  const [, , section = '', name = ''] = ref.split('/')
  return document.components?.[section]?.[name]
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
