import type { FastifyRequest } from 'fastify'

/** The origin of a request, as the audit log stores it. */
export interface Requester {
  readonly srcIp: string
  /** Cut to the part worth storing. */
  readonly userAgent: string | null
}

const MAX_USER_AGENT = 500

export function requesterOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Requester {
  return { srcIp: ip, userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null }
}
