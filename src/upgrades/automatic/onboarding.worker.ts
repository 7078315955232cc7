import { systemSiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import { type NewDevices, groupNewDevices } from './onboarding.ts'
import { requestOfOnboarding } from './plan-onboarding.ts'
import { insertOnboarded, listNewDevices, updateOnboardingSites } from './store-onboarding.ts'

const INTERVAL_MS = 60_000
const MAX_AT_ONCE = 1000

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
  const devices = await listNewDevices(ctx.db, MAX_AT_ONCE)
  let done = 0
  for (const group of groupNewDevices(devices)) {
    try {
      await upgradeGroup(ctx, group)
      done += 1
    } catch (error) {
      ctx.log.error({ err: error, site_id: group.siteId }, 'new devices of a site could not be upgraded')
    }
  }
  await updateOnboardingSites(ctx.db)
  return done > 0 && devices.length === MAX_AT_ONCE
}

/** Rolls the upgrade back. */
class Idle extends Error {}

async function upgradeGroup(ctx: Context, group: NewDevices): Promise<void> {
  const scope = systemSiteScope('rollout', group)
  try {
    await inCreationTx(ctx, scope, async (tx, create) => {
      const { plans } = await create(requestOfOnboarding(group))
      // What can't be upgraded is in the notes of the upgrade, where a person finds the reason.
      if (plans.every(({ kind }) => kind === 'skip')) throw new Idle()
      if (!(await insertOnboarded(tx, scope, group.deviceIds))) throw new Idle()
    })
  } catch (error) {
    if (!(error instanceof Idle) && !(error instanceof AppError && error.code === 'invalid')) throw error
    if (error instanceof AppError)
      ctx.log.warn({ err: error, site_id: group.siteId }, 'new devices of a site are not upgraded')
    await inTx(ctx, (tx) => insertOnboarded(tx, scope, group.deviceIds))
  }
}
