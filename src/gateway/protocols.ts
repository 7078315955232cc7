import { type NetconfOptions, netconf } from './netconf/protocol.ts'
import { type EdgeOptions, edge } from './edge/protocol.ts'
import type { Protocol } from './protocol.ts'
import { type UcentralOptions, ucentral } from './ucentral/protocol.ts'

export interface ProtocolOptions {
  readonly ucentral: UcentralOptions
  /** Null: Junos devices can't call home. */
  readonly netconf?: NetconfOptions | null
  readonly edge: EdgeOptions
}

/** The protocols of devices. No other file of the gateway depends on any of them. */
export function createProtocols(options: ProtocolOptions): readonly Protocol[] {
  const { netconf: junos } = options
  return [ucentral(options.ucentral), edge(options.edge), ...(junos ? [netconf(junos)] : [])]
}
