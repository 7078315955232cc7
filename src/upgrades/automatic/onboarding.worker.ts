import { systemSiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import { Idle } from './idle.ts'
import type { NewDevices } from './onboarding.ts'
import { requestOfOnboarding } from './plan-onboarding.ts'
import { findOnboarding, insertOnboarded, listNewDevices, updateOnboardingSites } from './store-onboarding.ts'

const INTERVAL_MS = 60_000
const MAX_AT_ONCE = 1000
/** A site that is younger may have been created after the look before. */
const NEW_SITE_MS = 2 * INTERVAL_MS
/** For this long after claiming a device, people may prepare it at one site for another. */
const NEW_CLAIM_MS = 7 * 24 * 3600e3

/**
 * Upgrades switches, SRX gateways and SSR routers once, when they are connected at a site for the first time, as the settings
 * demand. Any number of processes may run it.
 */
export function startOnboarding(ctx: Context): Poller {
  return startPoller({
    name: 'upgrades of new devices',
    ctx,
    intervalMs: INTERVAL_MS,
    work: () => upgradeNewDevices(ctx),
  })
}

/** @returns True if there may be more. */
export async function upgradeNewDevices(ctx: Context): Promise<boolean> {
  const groups = await listNewDevices(ctx.db, MAX_AT_ONCE)
  let done = 0
  for (const group of groups) {
    try {
      await upgradeGroup(ctx, group)
      done += 1
    } catch (error) {
      ctx.log.error({ err: error, site_id: group.siteId }, 'new devices of a site could not be upgraded')
    }
  }
  const now = ctx.clock.now()
  await updateOnboardingSites(ctx.db, { site: addMs(now, -NEW_SITE_MS), claim: addMs(now, -NEW_CLAIM_MS) })
  const found = groups.reduce((sum, { deviceIds }) => sum + deviceIds.length, 0)
  return done > 0 && found === MAX_AT_ONCE
}

async function upgradeGroup(ctx: Context, group: NewDevices): Promise<void> {
  const { setting, deviceIds } = group
  const scope = systemSiteScope('rollout', group)
  try {
    const rule = await findOnboarding(ctx.db, scope, setting)
    if (rule === null) throw new Idle()
    await inCreationTx(ctx, scope, async (tx, create) => {
      // Another process waits here until this one has its upgrade, and then finds no device of it.
      const fresh = await insertOnboarded(tx, scope, deviceIds)
      if (fresh.size === 0) return
      const { plans } = await create(requestOfOnboarding({ ...group, deviceIds: fresh, rule }))
      // What can't be upgraded is in the notes of the upgrade, where a person finds the reason.
      if (plans.length < fresh.size) throw new AppError('conflict', 'A new device has just left the site')
      if (plans.every(({ kind }) => kind === 'skip')) throw new Idle()
    })
  } catch (error) {
    if (!(error instanceof Idle) && !(error instanceof AppError && error.code === 'invalid')) throw error
    if (error instanceof AppError)
      ctx.log.warn({ err: error, site_id: group.siteId }, 'new devices of a site are not upgraded')
    await inTx(ctx, (tx) => insertOnboarded(tx, scope, deviceIds))
  }
}
