import type { LinkHost } from '../protocol.ts'
import type { LostUpgrades } from './lost-upgrades.ts'

/** The services of the gateway for the handlers of this protocol. */
export interface UcentralHost extends LinkHost {
  readonly lost: LostUpgrades
}
