/** WebSocket close codes that the gateway uses. Source: RFC 6455, 7.4; codes from 4000 on are our own. */
export const closeCodes = {
  policy: 1008,
  restart: 1012,
  tryAgain: 1013,
  replaced: 4409,
} as const
