import type { AccountParts } from '../accounts/parts.ts'
import type { CallHomePlace } from '../devices/call-home/junos-commands.ts'
import type { AgentGateway } from '../devices/routers/certificates.ts'
import type { RepeatedRefusal } from '../gateway/admission/refusals.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import type { ConsoleFiles } from '../http/console/console-files.ts'
import type { Apart } from '../http/apart/messages.ts'
import type { ApiCallers } from '../http/serve-api.ts'
import type { HttpOptions } from '../http/server.ts'
import type { WebhookLimits } from '../webhooks/limits/limits.ts'
import type { Storage } from './storage.ts'

/** Dependencies of the routes besides the context. */
export interface HttpParts {
  readonly accounts: AccountParts
  /** Proves that a caller can read the data folder; see routes-operator.ts. */
  readonly operatorKey: string
  /** Intervals that tests shorten; see serveStream(). */
  readonly stream?: { readonly checkMs: number }
  readonly tls: { readonly cert: string; readonly key: string } | null
  /** The network between clients and the server. */
  readonly network: Pick<HttpOptions, 'trustedProxies' | 'balancers' | 'connectionsPerNetwork'>
  /** See ApiCallers. */
  readonly requestsPerAccount?: number
  /** The same: clocks that tests stop. */
  readonly clocks?: Pick<ApiCallers, 'now' | 'cpuMs' | 'busyMs'>
  /** Data folder of the built-in device CA; null if the operator runs a CA. */
  readonly deviceCaDir: string | null
  readonly agents: AgentGateway
  readonly storage: Storage
  /** See SupportOptions. */
  readonly localCertificates: boolean
  readonly outbound: OutboundHttp
  /** The web console; null if it has not been built. */
  readonly console: ConsoleFiles | null
  /** The process of expensive requests; null if they run in the main thread. */
  readonly apart: Apart | null
  readonly webhookLimits: WebhookLimits
  /** Lists why the gateway has refused the latest devices. */
  readonly listRefusals: () => Promise<readonly RepeatedRefusal[]>
  /** The address to which Junos devices call home; null while the service accepts no such connections. */
  readonly callHomePlace: () => CallHomePlace | null
}
