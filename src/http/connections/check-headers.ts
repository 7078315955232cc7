import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../platform/errors.ts'

/**
 * Two proxies may each believe another one of two `Host` headers. RFC 9112, 3.2.
 * @throws AppError invalid unless a request has exactly one, or is older than HTTP/1.1 and has none.
 */
export function assertOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    throw new AppError('invalid', `A request must have one Host header; this one has ${hosts}`)
}

/** @throws AppError unsupported for a compressed body. */
export function assertPlainBody(request: FastifyRequest): void {
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity' && hasBody(request))
    throw new AppError('unsupported', `Content-Encoding ${coding} is not supported: send the body uncompressed`)
}

/** Clients send headers that describe a body without one too. */
export function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
