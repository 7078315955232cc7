import { type EdgeOptions, edge } from './edge/protocol.ts'
import type { Protocol } from './protocol.ts'
import { type UcentralOptions, ucentral } from './ucentral/protocol.ts'

export interface ProtocolOptions {
  readonly ucentral: UcentralOptions
  readonly edge: EdgeOptions
}

/** The protocols that devices speak. No other file of the gateway knows any of them. */
export function createProtocols(options: ProtocolOptions): readonly Protocol[] {
  return [ucentral(options.ucentral), edge(options.edge)]
}
