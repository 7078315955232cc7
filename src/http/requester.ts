import type { FastifyRequest } from 'fastify'

/** From where a request comes, as the audit log keeps it. */
export interface Requester {
  readonly srcIp: string
  /** Cut to what is worth keeping. */
  readonly userAgent: string | null
}

const MAX_USER_AGENT = 500

export function requesterOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Requester {
  return { srcIp: ip, userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null }
}
