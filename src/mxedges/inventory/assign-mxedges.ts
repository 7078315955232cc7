import type { OrgScope } from '../../access/scope.ts'
import { shareSiteName } from '../../devices/store.ts'
import { appendAudit } from '../../events/append.ts'
import { appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type Mxedge, mxedgeOfEvent, titleOf } from '../mxedge.ts'
import { lockMxedges, moveMxedges } from '../store.ts'

/** Ids as sent, each once. */
export interface AssignReport {
  readonly success: readonly string[]
  /** Ids that the organization does not have. */
  readonly unknown: readonly string[]
}

/** Assigns appliances to a site of the organization. @throws AppError not_found for the site. */
export function assignMxedges(
  ctx: Context,
  scope: OrgScope,
  { ids, siteId }: { readonly ids: readonly string[]; readonly siteId: string },
): Promise<AssignReport> {
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const siteName = await shareSiteName(tx, scope, siteId)
    if (siteName === undefined) throw notFound(siteId)
    return moveByIds(tx, scope, { ids, to: { siteId, siteName }, at: ctx.clock.now() })
  })
}

/** Removes appliances from their sites; they stay in the organization. */
export function unassignMxedges(ctx: Context, scope: OrgScope, ids: readonly string[]): Promise<AssignReport> {
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    return moveByIds(tx, scope, { ids, to: null, at: ctx.clock.now() })
  })
}

interface Move {
  /** Null: they leave their sites. */
  readonly to: { readonly siteId: string; readonly siteName: string } | null
  readonly at: Date
}

async function moveByIds(
  tx: Tx,
  scope: OrgScope,
  { ids, ...move }: Move & { readonly ids: readonly string[] },
): Promise<AssignReport> {
  const wanted = [...new Set(ids.map((id) => id.toLowerCase()))]
  const found = await lockMxedges(tx, scope, wanted)
  await moveLocked(tx, scope, { mxedges: found, ...move })
  const known = new Set(found.map(({ id }) => id))
  return { success: wanted.filter((id) => known.has(id)), unknown: wanted.filter((id) => !known.has(id)) }
}

/** Moves locked appliances; the caller has also locked the organization and the site. */
export async function moveLocked(
  tx: Tx,
  scope: OrgScope,
  { mxedges, to, at }: Move & { readonly mxedges: readonly Mxedge[] },
): Promise<void> {
  const siteId = to?.siteId ?? null
  const moved = mxedges.filter((mxedge) => mxedge.siteId !== siteId)
  if (moved.length === 0) return
  await moveMxedges(tx, scope, { ids: moved.map(({ id }) => id), siteId, at })
  await record(tx, scope, { moved, to, at })
}

async function record(
  tx: Tx,
  scope: OrgScope,
  { moved, to, at }: { readonly moved: readonly Mxedge[] } & Move,
): Promise<void> {
  const siteId = to?.siteId ?? null
  const [first] = moved
  const what = first !== undefined && moved.length === 1 ? titleOf(first) : `${moved.length} edge appliances`
  const auditId = await appendAudit(tx, scope, {
    message: to === null ? `Unassign ${what}` : `Assign ${what} to site ${to.siteName}`,
    siteId,
    before: { mxedges: moved.map((mxedge) => ({ id: mxedge.id, site_id: mxedge.siteId })) },
    after: { mxedges: moved.map(({ id }) => ({ id, site_id: siteId })) },
    at,
  })
  const deviceEvents = moved.map((mxedge) => ({
    // The event of an unassigned appliance goes to the site that loses it, because no other site would receive it.
    mxedge: { ...mxedgeOfEvent(mxedge), siteId: siteId ?? mxedge.siteId },
    type: 'ME_CONFIG_CHANGED_BY_USER' as const,
    auditId,
    text: to === null ? 'Unassigned from its site' : `Assigned to site ${to.siteName}`,
  }))
  await appendMxedgeEvents(tx, scope, deviceEvents, at)
}
