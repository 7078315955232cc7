import { type SiteScope, systemSiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { listWindows } from '../../orgs/org-settings/store.ts'
import { findWrongField } from '../../orgs/windows/auto-upgrade.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import { prepareUpgrade } from '../creation/prepare-upgrade.ts'
import { type AutoUpgradeSite, nextTimeOf, opensBefore } from './auto-upgrade.ts'
import { type HeldPlan, listHeld } from './decide-held.ts'
import { Idle } from './idle.ts'
import { LATE_MS, NO_DEVICE, type WantedUpgrade, findIdleReason, requestOf } from './plan-auto-upgrade.ts'
import {
  type SitePlace,
  deleteTimes,
  findAutoUpgrade,
  listConnectedAps,
  listDueSites,
  listFailures,
  updateRun,
  upsertTime,
} from './store.ts'

/** Times of day have minutes. */
const INTERVAL_MS = 60_000
/** An upgrade ends this long before the next one, which would otherwise find the access points taken. */
const BETWEEN_MS = 60_000
const SITES_PER_PORTION = 1000
/** Each upgrade waits for the database most of the time. More would take connections from requests. */
const SITES_AT_ONCE = 4
/** The service was down, or the upgrades of other sites took so long to begin. */
const TOO_LATE = 'the service did not begin it within an hour'

/** Begins the upgrades that the setting `auto_upgrade` demands of sites. Any number of processes may run it. */
export function startAutoUpgrades(ctx: Context): Poller {
  return startPoller({
    name: 'automatic upgrades',
    ctx,
    intervalMs: INTERVAL_MS,
    async work(signal) {
      await beginAutoUpgrades(ctx, signal)
      return null
    },
  })
}

/** Begins all upgrades that are due. A site that fails is tried again by the next call, and holds up no other one. */
export async function beginAutoUpgrades(ctx: Context, signal = new AbortController().signal): Promise<void> {
  await deleteTimes(ctx.db)
  for (let after: string | null = null; !signal.aborted;) {
    const sites = await listDueSites(ctx.db, { now: ctx.clock.now(), after, limit: SITES_PER_PORTION })
    const waiting = sites.values()
    await Promise.all(Array.from({ length: SITES_AT_ONCE }, () => visitAll(ctx, waiting, signal)))
    after = sites.at(-1)?.siteId ?? null
    if (sites.length < SITES_PER_PORTION) return
  }
}

async function visitAll(ctx: Context, waiting: Iterable<SitePlace>, signal: AbortSignal): Promise<void> {
  for (const site of waiting) {
    if (signal.aborted) return
    try {
      await visit(ctx, site)
    } catch (error) {
      ctx.log.error({ err: error, site_id: site.siteId }, 'the automatic upgrade of a site could not begin')
    }
  }
}

async function visit(ctx: Context, place: SitePlace): Promise<void> {
  const scope = systemSiteScope('rollout', place)
  const at = ctx.clock.now()
  const site = await findAutoUpgrade(ctx.db, scope, at)
  // Meanwhile the setting may have been turned off, or another process may have done it.
  if (site === undefined || (site.dueAt !== null && site.dueAt > at)) return
  const { dueAt } = site
  if (dueAt === null) {
    // A time that was still to come when a person wrote the setting, after the last look, has not passed.
    const first = nextTimeOf(site, addMs(at, -INTERVAL_MS))
    return inTx(ctx, (tx) => upsertTime(tx, scope, { ...site, dueAt: first }))
  }
  const nextAt = nextTimeOf(site, at)
  const run = { dueAt, at, nextAt }
  const reason = at.getTime() - dueAt.getTime() > LATE_MS ? TOO_LATE : await begin(ctx, scope, { site, run })
  if (reason === null) return
  await inTx(ctx, (tx) => updateRun(tx, scope, { ...run, result: { reason } }))
}

interface Due {
  readonly site: AutoUpgradeSite
  readonly run: { readonly dueAt: Date; readonly at: Date; readonly nextAt: Date }
}

/** @returns Why no upgrade has begun; null: one has, here or in another process. */
async function begin(ctx: Context, scope: SiteScope, { site, run }: Due): Promise<string | null> {
  const wrong = findWrongField(site.rule)
  if (wrong !== null) return `auto_upgrade.${wrong} in the settings has an impossible value`
  const deviceIds = await listConnectedAps(ctx.db, scope)
  if (deviceIds.size === 0) return NO_DEVICE
  const endsAt = addMs(run.nextAt, -BETWEEN_MS)
  const windows = (await listWindows(ctx.db, scope, [site.siteId])).get(site.siteId)
  if (windows !== undefined && !opensBefore(site, windows, { from: run.at, endsAt }))
    return 'no maintenance window opens before the next time'
  try {
    await inCreationTx(ctx, scope, async (tx, create) => {
      const wanted = { ...site, deviceIds, endsAt, held: [] }
      const held = await listHeldDevices(ctx, tx, scope, wanted)
      const created = await create(requestOf({ ...wanted, held }))
      const idle = findIdleReason({ ...created, plans: [...created.plans, ...held] })
      if (idle !== null) throw new Idle(idle)
      const [upgrade] = created.sites
      if (upgrade === undefined) throw new Idle('the site was deleted')
      if (!(await updateRun(tx, scope, { ...run, result: { upgradeId: upgrade.id } })))
        throw new Idle('another process has begun it')
    })
    return null
  } catch (error) {
    if (error instanceof Idle || (error instanceof AppError && error.code === 'invalid')) return error.message
    throw error
  }
}

/** Lists the devices to which a version that has failed is not given again. Which versions they would get follows from a plan. */
async function listHeldDevices(ctx: Context, tx: Tx, scope: SiteScope, wanted: WantedUpgrade): Promise<HeldPlan[]> {
  const failures = await listFailures(tx, scope)
  if (failures.length === 0) return []
  const { plans } = await prepareUpgrade(ctx, tx, scope, requestOf(wanted))
  return listHeld(plans, failures)
}
