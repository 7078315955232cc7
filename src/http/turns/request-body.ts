import type { IncomingMessage } from 'node:http'
import { MAX_JSON_BYTES } from '../bodies/body-limits.ts'

/** Returns the size of a JSON body; the largest that it may have if the request does not declare it. */
export function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['content-type']?.toLowerCase().startsWith('application/json') !== true) return 0
  if (headers['transfer-encoding'] !== undefined) return MAX_JSON_BYTES
  return Number(headers['content-length'] ?? 0)
}

/** True for a request that only reads. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** True for a request with a body that is read as it arrives: it takes long, and holds little. That of a read is not. */
export function isUpload(request: IncomingMessage): boolean {
  if (isRead(request)) return false
  const { 'content-length': length = '0', 'transfer-encoding': coding, upgrade } = request.headers
  const hasBody = coding !== undefined || Number(length) > 0
  return upgrade === undefined && hasBody && bodyBytesOf(request) === 0
}

/** False for uploads and streams. */
export function takesTurns(request: IncomingMessage): boolean {
  return request.headers.upgrade === undefined && !isUpload(request)
}
