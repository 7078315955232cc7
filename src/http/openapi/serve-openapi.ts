import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { lazily } from '../../platform/lazily.ts'
import type { Operation } from '../operation.ts'
import { makeDocument } from './document.ts'

const PATH = '/api/v1/openapi.json'

/** Serves the OpenAPI document of the operations, and a page to browse it. */
export async function serveOpenApi(
  http: FastifyInstance,
  { operations, version }: { readonly operations: readonly Operation[]; readonly version: string },
): Promise<void> {
  // Built at the first request: most processes never get one.
  const served = lazily(async () => {
    const plain = Buffer.from(JSON.stringify(makeDocument(operations, version)))
    const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`
    return { plain, packed: await promisify(gzip)(plain), etag }
  })
  http.get(PATH, { schema: { hide: true } }, async ({ headers }, reply) => {
    const { plain, packed, etag } = await served.get()
    void reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' })
    if (matches(headers['if-none-match'], etag)) return reply.code(304).send()
    void reply.type('application/json; charset=utf-8')
    if (!takesGzip(headers['accept-encoding'])) return reply.send(plain)
    return reply.header('content-encoding', 'gzip').send(packed)
  })
  // The page's plugin gets the document from this function.
  const document = { toJSON: () => makeDocument(operations, version) }
  await http.register(swagger, { mode: 'static', specification: { document: document as never } })
  await http.register(swaggerUi, {
    routePrefix: '/docs',
    // No data of the installation is sent to the page's public validator.
    uiConfig: { deepLinking: true, docExpansion: 'none', validatorUrl: null },
    staticCSP: true,
    // Scripts requested by HTTPS would leave an empty page on a server that deliberately serves plain HTTP.
    transformStaticCSP: (policy) => policy.replace(/ ?upgrade-insecure-requests;?/, ''),
  })
}

/** RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`. */
function matches(header: string | undefined, etag: string): boolean {
  return header !== undefined && header.split(',').some((tag) => ['*', etag, etag.slice(2)].includes(tag.trim()))
}

/** RFC 9110, 12.5.3. */
function takesGzip(header: string | undefined): boolean {
  const codings = (header ?? '').split(',').map((coding) =>
    coding
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/),
  )
  const named = codings.find(([name]) => name === 'gzip') ?? codings.find(([name]) => name === '*')
  return named !== undefined && !named.slice(1).some((parameter) => /^q=0(\.0*)?$/.test(parameter))
}
