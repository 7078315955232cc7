import { onTestFinished } from 'vitest'
import {
  type OutboundHttp,
  type OutboundOptions,
  type OutboundRequest,
  createOutboundHttp,
} from '../../../src/platform/outbound/outbound-http.ts'

/** Opens a client of receivers that may be on this machine, and closes it with the test. */
export function outboundWith(options: Partial<OutboundOptions> = {}): OutboundHttp {
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true, ...options })
  onTestFinished(() => outbound.close())
  return outbound
}

/** Sends a short request that verifies the certificate of its receiver. */
export const post = (outbound: OutboundHttp, url: string, more: Partial<OutboundRequest> = {}) =>
  outbound.send({
    url,
    method: 'POST',
    headers: {},
    body: Buffer.from('{}'),
    verifyCert: true,
    timeoutMs: 5000,
    ...more,
  })
