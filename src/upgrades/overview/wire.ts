import { type Static, Type } from 'typebox'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { packageNames } from '../../firmware/packages/package.ts'
import type { MxedgeTargetState } from '../../mxedges/upgrades/upgrade.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { TargetState } from '../../rollout/rollout.ts'
import { decideWholeStatus } from '../../rollout/decide-whole-status.ts'
import { endsField, nameField, presentName } from '../wire-extensions.ts'
import {
  awaitedField,
  offlineField,
  presentAwaited,
  presentOffline,
  presentState,
  stateFields,
  waitField,
} from '../wire.ts'
import { type UpgradeOverview, overviewKinds } from './overview.ts'
import { keysOf, recordOf } from '../../platform/records.ts'

const Kind = Type.Enum([...overviewKinds], {
  description: '`device`: devices, `ssr`: SSR routers, `mxedge`: edge appliances',
})

export const OverviewQuery = Type.Object({
  ...pageQuery,
  kind: Type.Optional(Kind),
  held: Type.Optional(
    Type.Boolean({ description: 'true: only upgrades that wait, and have `held`; false: no filter' }),
  ),
})

const Count = Type.Integer()

export const UpgradeOverviewReply = named(
  'UpgradeOverview',
  Type.Object({
    id: Uuid,
    kind: Kind,
    ...nameField,
    status: Type.Enum(['queued', 'running', 'completed', 'failed', 'cancelled'], {
      description: 'queued: nothing has begun',
    }),
    ...stateFields,
    ...waitField,
    ...awaitedField('devices or edge appliances'),
    ...offlineField('edge appliances'),
    strategy: Type.String(),
    target_version: Type.Optional(
      Type.String({ description: 'of devices and SSR routers; empty where it depends on the model' }),
    ),
    versions: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'of edge appliances, by service, as requested' }),
    ),
    distro: Type.Optional(Type.String({ description: 'of edge appliances; `versions` have no effect then' })),
    sites: Type.Optional(Type.Integer({ description: 'of devices and SSR routers' })),
    other_sites: Type.Optional(
      Type.Literal(true, {
        description:
          'at a site: the upgrade also concerns other sites, or those that are created later. The site can cancel its part of devices or SSR routers and exclude some of them, and nothing else',
      }),
    ),
    created_time: Timestamp,
    start_time: Type.Optional(Type.Integer({ description: 'when the first site begins' })),
    ...endsField,
    counts: named(
      'UpgradeOverviewCounts',
      Type.Object({
        queued: Count,
        upgrading: Count,
        success: Count,
        failed: Count,
        skipped: Count,
        cancelled: Count,
        total: Count,
      }),
    ),
  }),
)

type Counts = Static<typeof UpgradeOverviewReply>['counts']

/** As in the list of upgrades of edge appliances. */
const countedAs: Readonly<Record<TargetState | MxedgeTargetState, Exclude<keyof Counts, 'total'>>> = {
  planned: 'queued',
  deferred: 'queued',
  dl_requested: 'upgrading',
  downloading: 'upgrading',
  downloaded: 'upgrading',
  reboot_requested: 'upgrading',
  rebooting: 'upgrading',
  verifying: 'upgrading',
  rolling_back: 'upgrading',
  commanded: 'upgrading',
  unconfirmed: 'upgrading',
  // As in the report: those that only had to download count, too, and a snapshot delays nothing.
  upgraded: 'success',
  staged: 'success',
  snapshotting: 'success',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
}

export function presentOverview(upgrade: UpgradeOverview): Static<typeof UpgradeOverviewReply> {
  const { id, kind, name, strategy, isRunning, statuses, createdAt, startAt, endS } = upgrade
  const counts = presentCounts(upgrade)
  const status = decideWholeStatus({ runs: isRunning, statuses, hasResults: counts.success + counts.failed > 0 })
  return {
    id,
    kind,
    ...presentName(name),
    status,
    // A site that has lost all its devices has a reason, but has not stopped the whole upgrade.
    ...presentState(status === 'completed' ? { ...upgrade, stopReason: null } : upgrade),
    ...presentAwaited(upgrade.awaited),
    // A device may also be deferred because it can't download now.
    ...(upgrade.kind === 'mxedge' && presentOffline(upgrade.counts.deferred)),
    strategy,
    ...presentTarget(upgrade),
    ...(upgrade.hasOtherSites && { other_sites: true }),
    created_time: epochS(createdAt),
    ...(startAt !== null && { start_time: Math.floor(epochS(startAt)) }),
    ...(endS !== null && { end_time: endS }),
    counts,
  }
}

function presentTarget(upgrade: UpgradeOverview) {
  if (upgrade.kind !== 'mxedge') {
    const { targetVersion, sites } = upgrade
    return { target_version: targetVersion, sites }
  }
  const { versions, distro } = upgrade
  return {
    versions: recordOf(packageNames, (name) => versions[name] ?? 'current'),
    ...(distro !== null && { distro }),
  }
}

function presentCounts({ counts }: UpgradeOverview): Counts {
  const presented = { queued: 0, upgrading: 0, success: 0, failed: 0, skipped: 0, cancelled: 0, total: 0 }
  for (const state of keysOf(counts)) {
    const count = counts[state] ?? 0
    presented[countedAs[state]] += count
    presented.total += count
  }
  return presented
}
