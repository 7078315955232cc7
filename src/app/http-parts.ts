import type { AccountParts } from '../accounts/parts.ts'
import type { FirmwareFiles } from '../firmware/firmware.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import type { OutboundHttp } from '../platform/outbound-http.ts'

/** What the routes need besides the context. */
export interface HttpParts {
  readonly accounts: AccountParts
  /** Proves that a caller can read the data folder; see routes-operator.ts. */
  readonly operatorKey: string
  readonly tls: { readonly cert: string; readonly key: string } | null
  /** See HttpOptions. */
  readonly trustedProxies: readonly string[]
  /** Data folder of the built-in device CA; null where the operator runs a CA of their own. */
  readonly deviceCaDir: string | null
  readonly firmwareFiles: FirmwareFiles
  readonly imageFiles: ImageFiles
  readonly outbound: OutboundHttp
}
