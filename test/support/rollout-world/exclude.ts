import { isReleasable } from '../../../src/rollout/changes/plan-exclusion.ts'
import { planRelease } from '../../../src/rollout/changes/plan-release.ts'
import { NO_PHASE } from '../../../src/rollout/rollout.ts'
import { type Simulated, serviceMs } from './simulated.ts'
import type { World } from './world.ts'

export const EXCLUDED = 'excluded'

/** Excludes the device at this place of the fleet, if there is one that the upgrade has not changed yet. */
export function exclude(world: World, place: number): void {
  const { fleet, siteUpgrade, now } = world
  const one = fleet[place % Math.max(1, fleet.length)]
  if (one === undefined || siteUpgrade.finishedAt !== null) return
  const { target } = one
  const { state } = target
  if (!isReleasable(state) || !halt(one, now)) return
  const names = { mac: target.deviceId, upgradeId: 'site', orgUpgradeId: 'org' }
  const site = { ...siteUpgrade, id: 'site', orgUpgradeId: 'org' }
  const [change] = planRelease([site], [{ ...target, ...names, state }])
  if (change === undefined) throw new Error('the upgrade has lost no device')
  const { counts, released, plan, downloads, ends } = change
  one.target = { ...target, state: 'cancelled', phase: NO_PHASE, downloadPhase: null }
  one.reason = EXCLUDED
  const hold = ends === null ? siteUpgrade.hold : null
  const dueMs = hold === null ? serviceMs(now) : siteUpgrade.dueMs
  const stopping = ends === 'cancelled' ? (siteUpgrade.stopping ?? ends) : siteUpgrade.stopping
  world.siteUpgrade = { ...siteUpgrade, counts, released, plan, downloads, hold, dueMs, stopping }
}

/** Withdraws the command of the device, or cuts off its download. @returns False: it may flash all the same. */
function halt(one: Simulated, now: Date): boolean {
  const { command, download, target } = one
  if (command === null || !['dl_requested', 'downloading', 'reboot_requested'].includes(target.state)) return true
  if (command.state === 'queued') {
    one.command = { ...command, state: 'cancelled' }
    return true
  }
  if (!['sent', 'unknown', 'done'].includes(command.state) || command.kind === 'stage') {
    if (download?.delivered !== true)
      one.download = { bytesServed: 0, touchedMs: serviceMs(now), delivered: false, fenced: true }
    return true
  }
  if (command.kind === 'activate' || command.state === 'done' || download?.delivered === true) return false
  one.download = { bytesServed: 0, touchedMs: serviceMs(now), delivered: false, fenced: true }
  return true
}
