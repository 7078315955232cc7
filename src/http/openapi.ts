import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { ErrorBody } from './schemas.ts'

const PATH = '/api/v1/openapi.json'

/**
 * Serves the OpenAPI 3.1 document, made from the schemas that check the requests, and a page to
 * browse it. Register before the routes: it collects them as they come.
 */
export async function serveOpenApi(http: FastifyInstance, version: string): Promise<void> {
  http.addSchema(ErrorBody)
  await http.register(swagger, {
    refResolver: {
      buildLocalReference: (schema, _base, _fragment, index) =>
        typeof schema.$id === 'string' ? schema.$id : `schema${index}`,
    },
    transformObject: (document) =>
      'openapiObject' in document ? inOrder(document.openapiObject) : document.swaggerObject,
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Signalbox', version, description: 'Network management that you run yourself.' },
      security: [{ token: [] }, { session: [] }, { basic: [] }],
      components: {
        securitySchemes: {
          token: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`Token <key>`' },
          session: { type: 'apiKey', in: 'cookie', name: 'sessionid' },
          basic: { type: 'http', scheme: 'basic' },
        },
      },
    },
  })
  http.get(PATH, { schema: { hide: true } }, () => http.swagger())
  await http.register(swaggerUi, {
    routePrefix: '/docs',
    // Nothing of the installation goes to the page's public validator.
    uiConfig: { deepLinking: true, docExpansion: 'none', validatorUrl: null },
    staticCSP: true,
    // Who serves plain HTTP on purpose gets an empty page from scripts that are asked for by HTTPS.
    transformStaticCSP: (policy) => policy.replace(/ ?upgrade-insecure-requests;?/, ''),
  })
}

/** Paths by name: their order does not follow that in which they are registered. */
function inOrder<T extends { readonly paths?: object }>(document: T): T {
  const paths = Object.entries(document.paths ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { ...document, paths: Object.fromEntries(paths) }
}
