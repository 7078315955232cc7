import type { SitesScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { pause } from '../../platform/time/pause.ts'
import { hasPendingStops } from '../../rollout/stops/store.ts'

/** The engine takes less than a second; a client does not wait for one that is stuck. */
const WITHIN_MS = 3000
const LOOK_MS = 25

/**
 * Runs inTx() for the creation of an upgrade, or a preview of one. It first waits until the upgrades that stop have
 * released the devices that they don't wait for, so that an upgrade right after a cancellation does not leave them out. Those of other
 * sites do not matter: automatic upgrades of thousands of sites may end at one time, just before the next ones begin.
 */
export async function inUpgradeTx<T>(ctx: Context, scope: SitesScope, work: (tx: Tx) => Promise<T>): Promise<T> {
  await awaitStops(ctx, scope)
  return inTx(ctx, work)
}

async function awaitStops({ db, serviceClock, wakes }: Context, scope: SitesScope): Promise<void> {
  // Without the engine nobody would release them.
  if (!wakes.listened().includes('rollouts')) return
  const untilMs = performance.now() + WITHIN_MS
  while (performance.now() < untilMs && (await hasPendingStops(db, scope, serviceClock.nowMs()))) await pause(LOOK_MS)
}
