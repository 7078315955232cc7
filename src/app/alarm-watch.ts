import { watchDevices } from '../devices/alarms/watch-devices.ts'
import { closeCounts } from '../events/alarms/store.ts'
import { addMs } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { type Poller, startPoller } from '../platform/time/poller.ts'
import { watchUpgrades } from '../upgrades/alarms/watch-upgrades.ts'

const INTERVAL_MS = 15_000
const COUNT_WITHIN_MS = 3600e3

/** Opens and closes the alarms that follow from the state of devices and upgrades. */
export function startAlarmWatch(ctx: Context): Poller {
  return startPoller({ name: 'alarms', ctx, intervalMs: INTERVAL_MS, work: () => watchAlarms(ctx) })
}

/** @returns True if there may be more to do. */
export async function watchAlarms(ctx: Context): Promise<boolean> {
  await inTx(ctx, (tx) => closeCounts(tx, addMs(ctx.clock.now(), -COUNT_WITHIN_MS)))
  await watchUpgrades(ctx)
  return watchDevices(ctx)
}
