import type { IncomingMessage } from 'node:http'

export const STREAM_PATH = '/api-ws/v1/stream'

/** True for requests that open the stream; all others are ordinary requests, whatever protocol they offer. */
export function opensStream({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): boolean {
  return url.split('?', 1)[0] === STREAM_PATH && headers.upgrade?.toLowerCase() === 'websocket'
}
