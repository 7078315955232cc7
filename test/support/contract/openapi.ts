import type { TestServer } from '../servers/server.ts'

/** The parts of the OpenAPI document that the tests read. */
export interface OpenApi {
  readonly openapi: string
  readonly security: readonly Record<string, unknown>[]
  readonly components: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
}

interface OpenApiOperation {
  readonly operationId?: string
  readonly summary?: string
  readonly security?: readonly Record<string, unknown>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: Readonly<Record<string, unknown>>
  }[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content?: Record<string, { readonly schema?: object }>
  }
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, { readonly schema?: object }> }>>
}

export interface Operation {
  /** The method and the path if there is no operationId. */
  readonly id: string
  /** In upper case. */
  readonly method: string
  /** As in the document, such as /api/v1/orgs/{org_id}. */
  readonly path: string
  readonly spec: OpenApiOperation
}

/** Fetches the document that the server serves; its schemas, parameters and errors are references. */
export async function fetchPublished(server: TestServer): Promise<OpenApi> {
  const answer = await fetch(`${server.url}/api/v1/openapi.json`)
  return (await answer.json()) as OpenApi
}

/** The document with its references resolved; no schema contains itself. */
export async function fetchOpenApi(server: TestServer): Promise<OpenApi> {
  const published = await fetchPublished(server)
  return dereference(published, published) as OpenApi
}

function dereference(value: unknown, document: unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => dereference(member, document))
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value) return dereference(find(document, String(value.$ref)), document)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, dereference(member, document)]))
}

function find(document: unknown, ref: string): unknown {
  const found = ref
    .slice(2)
    .split('/')
    .reduce((holder, name) => Reflect.get(Object(holder), name), document)
  if (found === undefined) throw new Error(`nothing is at ${ref}`)
  return found
}

export function operationsOf(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, spec]) => ({
      id: spec.operationId ?? `${method} ${path}`,
      method: method.toUpperCase(),
      path,
      spec,
    })),
  )
}
