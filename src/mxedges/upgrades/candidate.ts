import type { MxedgeService } from '../sessions/facts.ts'

/** An edge appliance as the planning of an upgrade sees it. */
export interface Candidate {
  readonly id: string
  readonly name: string
  readonly mac: string | null
  readonly model: string
  readonly siteId: string | null
  readonly clusterId: string | null
  readonly registrationEpoch: number
  readonly isRegistered: boolean
  readonly connected: boolean
  /** Its last report; null if it has never connected. */
  readonly reported: {
    readonly distro: string | null
    readonly services: readonly MxedgeService[]
    readonly methods: readonly string[]
  } | null
  /** The running upgrade that it is part of. */
  readonly upgradeId: string | null
  /** The name of that upgrade; null: it has none. */
  readonly upgradeName: string | null
}
