import { Type } from 'typebox'
import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { orgAndSite } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { getUpgrade, listPhaseTimes, listUpgradeTargets, listUpgrades } from '../../mxedges/upgrades/store-records.ts'
import { assertCallable } from '../../platform/assert-callable.ts'
import type { Context } from '../../platform/context.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import { approveMxedgeUpgrade } from './approve-mxedge-upgrade.ts'
import { cancelMxedgeUpgrade, pauseMxedgeUpgrade, resumeMxedgeUpgrade } from './change-mxedge-upgrade.ts'
import { ApproveBody, parseApproval } from '../changes/wire-approve.ts'
import { checkUrlsOf } from '../strategies/gate-fields.ts'
import { findRequest } from '../previews/find-request.ts'
import { createMxedgeUpgrade } from './create-mxedge-upgrade.ts'
import { excludeMxedges } from './exclude-mxedges.ts'
import { previewMxedgeUpgrade } from './preview-mxedge-upgrade.ts'
import { retryMxedgeUpgrade } from './retry-mxedge-upgrade.ts'
import { updateMxedgeUpgrade } from './update-mxedge-upgrade.ts'
import { MxedgeExcludeBody, MxedgeExcludeReply, parseMxedgeExclusion, presentMxedgeExclusion } from './wire-exclude.ts'
import { parseMxedgeUpgrade, reviseMxedgeUpgrade } from './wire-parse.ts'
import { MxedgePlanOutdatedReply, MxedgePreviewReply, presentMxedgePreview } from './wire-preview.ts'
import { MxedgeRetryBody, MxedgeRetryReply, parseMxedgeRetry, presentMxedgeRetry } from './wire-retry.ts'
import {
  MxedgeUpgradeBody,
  MxedgeUpgradeItemReply,
  MxedgeUpgradeReply,
  MxedgeUpgradeTargetReply,
  MxedgeUpgradeUpdateBody,
  presentMxedgeUpgrade,
  presentMxedgeUpgradeItem,
  presentMxedgeUpgradeTarget,
} from './wire.ts'

const tag = 'Upgrades'
const all = '/mxedges/upgrade'
const one = `${all}/:upgrade_id`
const params = { upgrade_id: Uuid }

/** Pause and resume are our own: the interface has no way to resume a paused upgrade. */
const changes = [
  { name: 'cancel', what: 'Cancel an upgrade', change: cancelMxedgeUpgrade },
  { name: 'pause', what: 'Pause an upgrade', change: pauseMxedgeUpgrade },
  { name: 'resume', what: 'Resume an upgrade that is paused or held', change: resumeMxedgeUpgrade },
]

const twins = (what: string) => ({
  org: `${what} of the edge appliances of an organization`,
  site: `${what} of the edge appliances of a site`,
})

async function readUpgrade(ctx: Context, scope: PlaceScope, id: string) {
  const upgrade = await getUpgrade(ctx.db, scope, { id, at: ctx.clock.now() })
  return presentMxedgeUpgrade(upgrade, await listPhaseTimes(ctx.db, upgrade))
}

/**
 * Upgrades of edge appliances. Source: spec, "Edge appliances", 14 and 15; contract, Utilities Upgrade.
 * @param outbound Decides which addresses checks may call.
 */
export const mxedgeUpgradeOperations = (outbound: OutboundHttp): Operation[] =>
  [
    operation({
      id: { org: 'upgradeOrgMxEdges', site: 'upgradeSiteMxEdges' },
      summary: {
        org: 'Upgrade edge appliances of an organization in phases',
        site: 'Upgrade edge appliances of a site in phases',
      },
      method: 'POST',
      tag: { org: tag, site: tag },
      at: orgAndSite(all, { needs: 'write' }),
      body: MxedgeUpgradeBody,
      reply: Type.Union([MxedgeUpgradeReply, MxedgePreviewReply]),
      errors: { 409: MxedgePlanOutdatedReply },
      run: async (ctx, { scope, body: sent }) => {
        const siteId = siteIdOf(scope)
        const origin = siteId === null ? 'mxedges' : `mxedges of site ${siteId}`
        const body = await findRequest(ctx, scope, { body: sent, origin })
        const request = parseMxedgeUpgrade(body)
        await assertCallable(outbound, checkUrlsOf(body.phase_gates), scope)
        if (body.dry_run === true)
          return presentMxedgePreview(await previewMxedgeUpgrade(ctx, scope, { request, origin, body }), body)
        const id = await createMxedgeUpgrade(ctx, scope, request)
        return readUpgrade(ctx, scope, id)
      },
    }),
    listOperation({
      id: { org: 'listOrgMxEdgeUpgrades', site: 'listSiteMxEdgeUpgrades' },
      summary: twins('List the upgrades'),
      tag: { org: tag, site: tag },
      at: orgAndSite(all, { needs: 'read' }),
      item: MxedgeUpgradeItemReply,
      run: async (ctx, { scope, page }) =>
        presentPage(await listUpgrades(ctx.db, scope, page), presentMxedgeUpgradeItem),
    }),
    operation({
      id: { org: 'getOrgMxEdgeUpgrade', site: 'getSiteMxEdgeUpgrade' },
      summary: twins('Get an upgrade'),
      method: 'GET',
      tag: { org: tag, site: tag },
      at: orgAndSite(one, { needs: 'read' }),
      params,
      reply: MxedgeUpgradeReply,
      run: (ctx, { scope, params: { upgrade_id: id } }) => readUpgrade(ctx, scope, id),
    }),
    listOperation({
      id: { org: 'listOrgMxEdgeUpgradeTargets', site: 'listSiteMxEdgeUpgradeTargets' },
      summary: twins('List the appliances of an upgrade'),
      tag: { org: tag, site: tag },
      at: orgAndSite(`${one}/targets`, { needs: 'read' }),
      params,
      item: MxedgeUpgradeTargetReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, page }) => {
        const upgrade = await getUpgrade(ctx.db, scope, { id, at: ctx.clock.now() })
        return presentPage(await listUpgradeTargets(ctx.db, upgrade, page), presentMxedgeUpgradeTarget)
      },
    }),
    operation({
      id: { org: 'updateOrgMxEdgeUpgrade', site: 'updateSiteMxEdgeUpgrade' },
      summary: twins('Rename an upgrade or change a queued one'),
      method: 'PUT',
      tag: { org: tag, site: tag },
      at: orgAndSite(one, { needs: 'write' }),
      params,
      body: MxedgeUpgradeUpdateBody,
      reply: MxedgeUpgradeReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, body }) => {
        await assertCallable(outbound, checkUrlsOf(body.phase_gates), scope)
        await updateMxedgeUpgrade(ctx, scope, { id, revise: (upgrade) => reviseMxedgeUpgrade(upgrade, body) })
        return readUpgrade(ctx, scope, id)
      },
    }),
    operation({
      id: { org: 'retryOrgMxEdgeUpgrade', site: 'retrySiteMxEdgeUpgrade' },
      summary: twins('Retry the failed appliances of an upgrade'),
      method: 'POST',
      tag: { org: tag, site: tag },
      at: orgAndSite(`${one}/retry`, { needs: 'write' }),
      params,
      body: MxedgeRetryBody,
      reply: MxedgeRetryReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
        presentMxedgeRetry(await retryMxedgeUpgrade(ctx, scope, { id, mxedgeIds: parseMxedgeRetry(body) })),
    }),
    operation({
      id: { org: 'excludeOrgMxEdgeUpgrade', site: 'excludeSiteMxEdgeUpgrade' },
      summary: {
        org: 'Exclude edge appliances from an upgrade of an organization',
        site: 'Exclude edge appliances from an upgrade of a site',
      },
      method: 'POST',
      tag: { org: tag, site: tag },
      at: orgAndSite(`${one}/exclude`, { needs: 'write' }),
      params,
      body: MxedgeExcludeBody,
      reply: MxedgeExcludeReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
        presentMxedgeExclusion(await excludeMxedges(ctx, scope, { id, ...parseMxedgeExclusion(body) })),
    }),
    operation({
      id: { org: 'approveOrgMxEdgeUpgrade', site: 'approveSiteMxEdgeUpgrade' },
      summary: twins('Approve a phase of an upgrade'),
      method: 'POST',
      tag: { org: tag, site: tag },
      at: orgAndSite(`${one}/approve`, { needs: 'write' }),
      params,
      body: ApproveBody,
      reply: Empty,
      run: (ctx, { scope, params: { upgrade_id: id }, body }) =>
        approveMxedgeUpgrade(ctx, scope, parseApproval(id, body)),
    }),
    ...changes.map(({ name, what, change }) =>
      operation({
        id: { org: `${name}OrgMxEdgeUpgrade`, site: `${name}SiteMxEdgeUpgrade` },
        summary: twins(what),
        method: 'POST',
        tag: { org: tag, site: tag },
        at: orgAndSite(`${one}/${name}`, { needs: 'write' }),
        params,
        reply: Empty,
        run: (ctx, { scope, params: { upgrade_id: id } }) => change(ctx, scope, id),
      }),
    ),
  ].flat()
