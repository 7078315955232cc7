import type { KyselyPlugin } from 'kysely'
import { anyOf } from '../../../src/platform/database/db.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import type { SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { type Rollout, countAll, useRollout } from '../harness.ts'

/** A rollout with upgrades that devices join. */
export interface Joining {
  readonly rollout: Rollout
  /**
   * Makes the upgrade search for devices, as after its pause. @param maxDevices The number of devices that one search
   * reads.
   */
  readonly look: (maxDevices?: number) => Promise<void>
  /** Assigns the devices to a site. */
  readonly move: (devices: readonly SeededDevice[], site: number) => Promise<void>
  /** An upgrade of the first site, in which one device is absent, so that it runs until `finish()`. */
  readonly begin: (body?: OrgUpgradeBody) => Promise<{ readonly id: string; readonly finish: () => Promise<void> }>
  /** The number of the upgrade's devices in each state. */
  readonly countOfUpgrade: (id: string) => Promise<ReturnType<typeof countAll>>
  /** True if the upgrade searches for further devices. */
  readonly searches: (id: string) => Promise<boolean>
  /** What the upgrade does with each device, in the order of their places. */
  readonly targets: (id: string) => ReturnType<typeof listTargets>
}

/** Sets up a rollout for each test of the file. */
export function useJoining(): Joining {
  const rollout = useRollout()
  return {
    rollout,
    async look(maxDevices) {
      rollout.clock.advance(61_000)
      await includeAll(rollout.ctx, maxDevices)
      await expectConsistent(rollout.ctx)
    },
    async move(devices, site) {
      const ids = devices.map(({ id }) => id)
      const siteId = rollout.org.sites[site]?.id ?? ''
      await rollout.ctx.db.updateTable('device').set({ siteId }).where('id', '=', anyOf(ids)).execute()
    },
    async begin(body = {}) {
      const absent = rollout.devices(0).slice(0, 1)
      await rollout.fleet.disconnect(absent)
      const siteIds = [rollout.org.sites[0]?.id ?? '']
      const { id } = await rollout.create({ site_ids: siteIds, all_sites: false, include_new: true, ...body })
      await rollout.play()
      return {
        id,
        finish: async () => {
          await rollout.fleet.connect(absent)
          rollout.clock.advance(5000)
          await rollout.play()
          await expectConsistent(rollout.ctx)
        },
      }
    },
    countOfUpgrade: async (id) => countAll(await rollout.read(id)),
    async searches(id) {
      const { includeDueMs } = await rollout.ctx.db
        .selectFrom('orgUpgrade')
        .select('includeDueMs')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return includeDueMs !== null
    },
    targets: (id) => listTargets(rollout, id),
  }
}

function listTargets(rollout: Rollout, id: string) {
  return rollout.ctx.db
    .selectFrom('upgradeTarget as target')
    .innerJoin('siteUpgrade as part', 'part.id', 'target.upgradeId')
    .select(['target.deviceId', 'target.phase', 'target.downloadPhase', 'target.rank', 'target.targetVersion'])
    .where('part.orgUpgradeId', '=', id)
    .orderBy('target.ordinal')
    .execute()
}

/** Does `work` once, after rows with this column have been read. */
export function afterRead(column: string, work: () => Promise<unknown>): KyselyPlugin {
  let isDone = false
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const [row] = result.rows
      if (isDone || row === undefined || !(column in row)) return result
      isDone = true
      await work()
      return result
    },
  }
}
