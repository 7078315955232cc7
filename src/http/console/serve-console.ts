import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../../platform/errors.ts'
import { chooseEncoding } from './choose-encoding.ts'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

/** The addresses of pages; `*` matches any rest. The router in web/src/app/router.tsx defines the pages themselves. */
const pages = ['/', '/sign-in', '/register', '/recover', '/account', '/operator', '/orgs/*']

/** A year: the name of an asset changes with its contents. */
const ASSET_CACHE = 'public, max-age=31536000, immutable'

/**
 * A page loads from, and connects to, this server only. No script or style is inline; the policy does not restrict the
 * styles that scripts set on elements.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const documentHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  // The browser revalidates each time, and gets a 304 until another release runs.
  'cache-control': 'no-cache',
}

/** Serves the web console: one document for all pages, and the assets that it names. */
export function serveConsole(http: FastifyInstance, { document, assets }: ConsoleFiles): void {
  for (const url of pages) {
    http.get(url, { schema: { hide: true } }, (request, reply) => {
      void reply.headers(documentHeaders)
      return send(request, reply, document)
    })
  }
  http.get<{ Params: { name: string } }>('/assets/:name', { schema: { hide: true } }, (request, reply) => {
    const asset = assets.get(request.params.name)
    if (asset === undefined) throw notFound(request.params.name)
    void reply.header('cache-control', ASSET_CACHE)
    return send(request, reply, asset)
  })
}

function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  void reply.headers({ etag: file.etag, vary: 'accept-encoding' })
  if (request.headers['if-none-match']?.includes(file.etag) === true) return reply.code(304).send()
  const encoding = chooseEncoding(request.headers['accept-encoding'], new Set(file.encoded.keys()))
  if (encoding !== null) void reply.header('content-encoding', encoding)
  return reply.type(file.type).send(encoding === null ? file.bytes : file.encoded.get(encoding))
}
