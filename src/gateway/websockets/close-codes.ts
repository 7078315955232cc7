import type { CloseReason } from '../links/device-link.ts'

/** WebSocket close codes that the gateway uses. Source: RFC 6455, 7.4; codes from 4000 on are our own. */
export const closeCodes = {
  policy: 1008,
  restart: 1012,
  tryAgain: 1013,
  /** The registration of an edge appliance has ended; its agent must not connect again. */
  unregistered: 4001,
  replaced: 4409,
} as const

/** The close frame for each reason that the gateway has. */
export const closeFrames = {
  replaced: { code: closeCodes.replaced, text: 'a newer connection of the device is open' },
  unregistered: { code: closeCodes.unregistered, text: 'the registration has ended' },
  revoked: { code: closeCodes.policy, text: 'the certificate of the device is revoked' },
  restart: { code: closeCodes.restart, text: 'the service restarts' },
  try_again: { code: closeCodes.tryAgain, text: 'try again later' },
} as const satisfies Record<CloseReason, { code: number; text: string }>
