import { Type } from 'typebox'
import { MAX_REQUESTS_PER_ACCOUNT } from '../../http/turns/limits/work-limits.ts'
import { defaultConnections } from '../../platform/queues/connection-gate.ts'
import { parseCidrs } from './config-values.ts'

/** The number of connections that the ports accept. */
export interface ConnectionSettings {
  /** Ranges of reverse proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** Ranges of load balancers that send PROXY headers to every port. */
  readonly balancers: readonly string[]
  readonly httpPerNetwork: number
  readonly devicesPerNetwork: number
  /** Requests of one account that are in work at a time. */
  readonly requestsPerAccount: number
}

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description }))

export const connectionEnvironment = {
  SIGNALBOX_TRUSTED_PROXIES: Type.Optional(
    Type.String({ description: 'ranges of reverse proxies whose X-Forwarded-For is believed, separated by commas' }),
  ),
  SIGNALBOX_PROXY_PROTOCOL_FROM: Type.Optional(
    Type.String({ description: 'ranges of load balancers that send PROXY headers, separated by commas' }),
  ),
  SIGNALBOX_HTTP_CONNECTIONS_PER_NETWORK: count(
    'connections that one IPv4 address or IPv6 /64 may have open to the HTTP port; default 2000',
  ),
  SIGNALBOX_REQUESTS_PER_ACCOUNT: count(
    `requests of one account that are in work at a time, with all its sessions and tokens; default ${MAX_REQUESTS_PER_ACCOUNT}`,
  ),
  SIGNALBOX_DEVICE_CONNECTIONS_PER_NETWORK: count(
    'the same, to each port for devices, where all devices behind one address count; default 20000',
  ),
}

type Env = Type.Static<ReturnType<typeof Type.Object<typeof connectionEnvironment>>>

export function parseConnectionSettings(env: Env): ConnectionSettings {
  return {
    trustedProxies: parseCidrs('SIGNALBOX_TRUSTED_PROXIES', env.SIGNALBOX_TRUSTED_PROXIES),
    balancers: parseCidrs('SIGNALBOX_PROXY_PROTOCOL_FROM', env.SIGNALBOX_PROXY_PROTOCOL_FROM),
    httpPerNetwork: env.SIGNALBOX_HTTP_CONNECTIONS_PER_NETWORK ?? 2000,
    requestsPerAccount: env.SIGNALBOX_REQUESTS_PER_ACCOUNT ?? MAX_REQUESTS_PER_ACCOUNT,
    devicesPerNetwork: env.SIGNALBOX_DEVICE_CONNECTIONS_PER_NETWORK ?? defaultConnections.maxPerNetwork,
  }
}
