import type { Channel, PackageName } from '../../firmware/packages/package.ts'
import type { MaintenanceWindow } from '../../orgs/windows/windows.ts'
import type { StartGate } from '../../rollout/rollout.ts'
import type { RequestedTime } from '../org-upgrade.ts'
import type { Phasing } from '../strategies/strategy.ts'

/** An upgrade of edge appliances as it was requested, with the defaults filled in. */
export interface MxedgeUpgradeRequest {
  /** The id of the plan that it carries out, which was shown by a preview; null: a new plan is made. */
  readonly planId: string | null
  /** In lower case; null: all appliances of the organization, or of the site. */
  readonly mxedgeIds: readonly string[] | null
  /** The name of the strategy, for the record. */
  readonly strategy: string
  readonly phasing: Phasing
  readonly channel: Channel
  /** A codename or `next`; null: services are upgraded. */
  readonly distro: string | null
  /** By service: `latest`, `default` or a version. Services that are not to change are missing. */
  readonly versions: ReadonlyMap<PackageName, string>
  readonly downgrades: ReadonlySet<PackageName>
  /** Null: it begins without an approval. */
  readonly startGate: StartGate | null
  /** The instants before which phases do not begin, and the fields that name them. */
  readonly notBefore: readonly RequestedTime[]
  /** Null: now. */
  readonly startAt: Date | null
  /** No appliance begins from then on; null: the upgrade has no such end. */
  readonly endsAt: Date | null
  /** Appliances begin only within them; null: within those of the settings; empty: at any time. */
  readonly windows: readonly MaintenanceWindow[] | null
  /** Appliances of other upgrades that have not begun with them are taken over. */
  readonly supersede: boolean
  /** Appliances that join later, or need the versions only later, are taken in while the upgrade runs. */
  readonly includeNew: boolean
  /** The parts of the request without effect. */
  readonly notes: readonly { readonly reason: string }[]
  /** The body as it came, for the record. */
  readonly document: Readonly<Record<string, unknown>>
}

/** The request of an upgrade after a change. */
export interface MxedgeUpgradeRevision {
  /** The body for the record. */
  readonly document: MxedgeUpgradeRequest['document']
  /** Null: the change concerns nothing that a plan depends on. */
  readonly request: MxedgeUpgradeRequest | null
}
