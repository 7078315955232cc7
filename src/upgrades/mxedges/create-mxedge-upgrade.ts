import { uuidv7 } from 'uuidv7'
import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { shareSiteName } from '../../devices/store.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { appendAudit } from '../../events/append.ts'
import { lockImages } from '../../firmware/store.ts'
import { listPackages } from '../../firmware/packages/store.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import { type NewUpgrade, insertUpgrade, lockCandidates } from '../../mxedges/upgrades/store-create.ts'
import { noCounts } from '../../mxedges/upgrades/upgrade.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import { PAST_TOLERANCE_MS } from '../plan-start.ts'
import { type PlannedTarget, planMxedgeUpgrade } from './plan-mxedge-upgrade.ts'
import { planSteps, refuseUnknownVersions } from './plan-steps.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/**
 * Plans an upgrade of edge appliances and writes it: once the transaction commits, the worker carries it out. Appliances
 * that can't be upgraded, or that are in another upgrade, are skipped and noted.
 * @returns Its id.
 * @throws AppError invalid for appliances, versions and times that can't be; nothing is changed then.
 */
export async function createMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  request: MxedgeUpgradeRequest,
): Promise<string> {
  const id = uuidv7()
  await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const siteId = siteIdOf(scope)
    if (siteId !== null && (await shareSiteName(tx, scope, siteId)) === undefined) throw notFound(siteId)
    const planned = await planUpgrade(tx, scope, { id, siteId, request, now: ctx.clock.now() })
    await insertUpgrade(tx, scope, planned.upgrade, { at: ctx.clock.now(), nowMs: ctx.serviceClock.nowMs() })
    await appendRequest(tx, scope, { ...planned, message: 'Upgrade', at: ctx.clock.now() })
  })
  return id
}

export interface PlannedUpgrade {
  readonly upgrade: NewUpgrade
  readonly targets: readonly PlannedTarget[]
}

interface Planning {
  readonly id: string
  /** The site whose upgrade it is, also where the caller acts in the whole organization; null: the organization's. */
  readonly siteId: string | null
  readonly request: MxedgeUpgradeRequest
  readonly now: Date
}

/** Plans the upgrade with this id anew; the appliances that it covers stay locked until `tx` ends. */
export async function planUpgrade(
  tx: Tx,
  scope: PlaceScope,
  { id, siteId, request, now }: Planning,
): Promise<PlannedUpgrade> {
  const startAt = request.startAt ?? now
  if (now.getTime() - startAt.getTime() > PAST_TOLERANCE_MS)
    throw invalidField('start_time', `is ${startAt.toISOString()}, more than 5 minutes ago`)
  const catalog = await listPackages(tx, scope)
  refuseUnknownVersions(request, catalog)
  const candidates = await lockCandidates(tx, scope, { siteId, ids: request.mxedgeIds })
  refuseUnknownMxedges(siteId, request, candidates)
  const chosen = candidates.map((appliance) => Object.assign(planSteps(appliance, request, catalog), { appliance }))
  const { plan, targets, notes } = planMxedgeUpgrade(request, chosen, id)
  await shareImages(tx, scope, targets)
  const skipped = targets.length - plan.planned
  const upgrade = {
    id,
    siteId,
    request: request.document,
    plan,
    counts: { ...noCounts, planned: plan.planned, skipped },
    notes,
    startAt,
    targets: targets.map(({ appliance, reason, ...target }) => ({
      ...target,
      mxedgeId: appliance.id,
      name: appliance.name,
      registrationEpoch: appliance.registrationEpoch,
      state: reason === null ? ('planned' as const) : ('skipped' as const),
      reason,
    })),
  }
  return { upgrade, targets }
}

/** An image that is being deleted concurrently counts as missing. */
async function shareImages(tx: Tx, scope: PlaceScope, targets: readonly PlannedTarget[]): Promise<void> {
  const steps = targets.flatMap((target) => target.steps)
  const ids = [...new Set(steps.flatMap((step) => ('service' in step ? [step.image_id] : [])))]
  const held = await lockImages(tx, scope, ids)
  if (held.length < ids.length) throw new AppError('conflict', 'A package of this upgrade has just been deleted')
}

/** An error text names no more of them. */
const MAX_NAMED = 5

function refuseUnknownMxedges(
  siteId: string | null,
  { mxedgeIds }: Pick<MxedgeUpgradeRequest, 'mxedgeIds'>,
  found: readonly Candidate[],
): void {
  const known = new Set(found.map(({ id }) => id))
  const unknown = (mxedgeIds ?? []).filter((id) => !known.has(id))
  if (unknown.length === 0) return
  const place = siteId === null ? 'organization' : 'site'
  const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : ''
  const named = `${unknown.slice(0, MAX_NAMED).join(', ')}${more}`
  throw invalidField('mxedge_ids', `this ${place} has no edge appliance ${named}`)
}

interface Requested extends PlannedUpgrade {
  /** How the audit record begins. */
  readonly message: string
  readonly at: Date
}

/** Appends the audit record of a request and the events of the appliances that it upgrades. */
export async function appendRequest(
  tx: Tx,
  scope: PlaceScope,
  { upgrade, targets, message, at }: Requested,
): Promise<void> {
  const { id, siteId, request, plan, notes } = upgrade
  const auditId = await appendAudit(tx, scope, {
    message: `${message} ${plan.planned} edge appliances`,
    siteId,
    after: { id, ...request, ...(notes.length > 0 && { notes }) },
    at,
  })
  const events = targets.flatMap(({ appliance, steps }) =>
    steps.map((step): MxedgeEventInput => {
      const event = { mxedge: { ...appliance, mxclusterId: appliance.clusterId }, auditId }
      if ('distro' in step) return { ...event, type: 'ME_DISTRO_UPGRADE_BY_USER', text: `to ${step.to}` }
      const update = { package: step.service, from: step.from, to: step.to }
      return { ...event, type: 'ME_PACKAGE_UPDATE_BY_USER', update }
    }),
  )
  await appendMxedgeEvents(tx, scope, events, at)
  wakeAfterCommit(tx, 'mxedges')
}
