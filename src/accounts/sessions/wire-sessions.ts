import { type Static, Type } from 'typebox'
import { Timestamp, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { OpenSession } from './store-open.ts'

/** The secret of a session is its cookie; this is a part of the hash of it. */
export const SessionId = Type.String({ pattern: '^[0-9a-f]{32}$' })

export const SessionReply = named(
  'LoginSession',
  Type.Object({
    id: SessionId,
    current: Type.Boolean({ description: 'whether it is the one that asks' }),
    via_sso: Type.Boolean(),
    created_time: Timestamp,
    expires_time: Type.Number({ description: 'when the session ends' }),
    last_seen: Type.Optional(Type.Number({ description: 'epoch seconds, to some minutes' })),
    src_ip: Type.Optional(Type.String({ description: 'from which it was opened' })),
    user_agent: Type.Optional(Type.String()),
  }),
)

/** @param current The hash of the caller's session; null: the caller authenticates in another way. */
export function presentSession(session: OpenSession, current: Buffer | null): Static<typeof SessionReply> {
  const { idHash, ssoId, createdAt, expiresAt, lastSeenAt, srcIp, userAgent } = session
  return {
    id: idHash.subarray(0, 16).toString('hex'),
    current: current?.equals(idHash) === true,
    via_sso: ssoId !== null,
    created_time: epochS(createdAt),
    expires_time: epochS(expiresAt),
    ...(lastSeenAt !== null && { last_seen: epochS(lastSeenAt) }),
    ...(srcIp !== null && { src_ip: srcIp }),
    ...(userAgent !== null && { user_agent: userAgent }),
  }
}

export const SessionsEndedReply = named('LoginSessionsEnded', Type.Object({ ended: Type.Integer() }))
