import { Type } from 'typebox'
import { org } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { assertCallable } from '../platform/assert-callable.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import { approveOrgUpgrade } from './changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from './changes/cancel-org-upgrade.ts'
import { excludeDevices } from './changes/exclude-devices.ts'
import { createOrgUpgrade } from './creation/create-org-upgrade.ts'
import { pauseOrgUpgrade } from './changes/pause-org-upgrade.ts'
import { findRequest } from './previews/find-request.ts'
import { previewUpgrade } from './previews/preview-upgrade.ts'
import { PlanOutdatedReply, UpgradePreviewReply, presentPreview } from './previews/wire.ts'
import { resumeOrgUpgrade } from './changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from './changes/retry-org-upgrade.ts'
import { getOrgUpgrade, listOrgUpgrades } from './store.ts'
import { checkUrlsOf } from './strategies/gate-fields.ts'
import { parseOrgUpgrade } from './wire-parse.ts'
import {
  OrgUpgradeBody,
  OrgUpgradeItemReply,
  OrgUpgradeQuery,
  OrgUpgradeReply,
  presentOrgUpgrade,
  presentOrgUpgradeItem,
} from './wire.ts'
import { ApproveBody, parseApproval } from './changes/wire-approve.ts'
import { ExcludeBody, ExcludeReply, parseExclusion, presentExclusion } from './changes/wire-exclude.ts'
import { RetryBody, RetryReply, parseRetry, presentRetry } from './changes/wire-retry.ts'

const tag = 'Upgrades'
const one = '/devices/upgrade/:upgrade_id'
const params = { upgrade_id: Uuid }

/** All but `cancel` are our own: the interface has no way to resume a paused upgrade. */
const changes = [
  { name: 'cancel', summary: 'Cancel an upgrade', change: cancelOrgUpgrade },
  { name: 'pause', summary: 'Pause an upgrade', change: pauseOrgUpgrade },
  { name: 'resume', summary: 'Resume an upgrade that is paused or held', change: resumeOrgUpgrade },
]

/**
 * Device upgrades of an organization. Source: spec, "Devices", operation 12; contract, Utilities Upgrade.
 * @param outbound Decides which addresses checks may call.
 */
export const upgradeOperations = (outbound: OutboundHttp): Operation[] =>
  [
    operation({
      id: 'upgradeOrgDevices',
      summary: 'Upgrade the devices of an organization in phases',
      method: 'POST',
      tag,
      at: org('/devices/upgrade', { needs: 'write' }),
      query: OrgUpgradeQuery,
      body: OrgUpgradeBody,
      reply: Type.Union([OrgUpgradeReply, UpgradePreviewReply]),
      errors: { 409: PlanOutdatedReply },
      run: async (ctx, { scope, query, body: sent }) => {
        const origin = 'org'
        const body = await findRequest(ctx, scope, { body: sent, origin })
        const request = parseOrgUpgrade(body)
        await assertCallable(outbound, checkUrlsOf(body.phase_gates), scope)
        if (body.dry_run === true || query.dry_run === true)
          return presentPreview(await previewUpgrade(ctx, scope, { request, origin, body }))
        return presentOrgUpgrade(await createOrgUpgrade(ctx, scope, request))
      },
    }),
    listOperation({
      id: 'listOrgDeviceUpgrades',
      summary: 'List the upgrades of an organization',
      tag,
      at: org('/devices/upgrade', { needs: 'read' }),
      item: OrgUpgradeItemReply,
      run: async (ctx, { scope, page }) =>
        presentPage(await listOrgUpgrades(ctx.db, scope, page), presentOrgUpgradeItem),
    }),
    operation({
      id: 'getOrgDeviceUpgrade',
      summary: 'Get an upgrade with the state of each device',
      method: 'GET',
      tag,
      at: org(one, { needs: 'read' }),
      params,
      reply: OrgUpgradeReply,
      run: async (ctx, { scope, params: { upgrade_id: id } }) =>
        presentOrgUpgrade(await getOrgUpgrade(ctx.db, scope, id)),
    }),
    ...changes.map(({ name, summary, change }) =>
      operation({
        id: `${name}OrgDeviceUpgrade`,
        summary,
        method: 'POST',
        tag,
        at: org(`${one}/${name}`, { needs: 'write' }),
        params,
        reply: Empty,
        run: (ctx, { scope, params: { upgrade_id: id } }) => change(ctx, scope, id),
      }),
    ),
    operation({
      id: 'approveOrgDeviceUpgrade',
      summary: 'Approve a phase of an upgrade, so that the next one opens',
      method: 'POST',
      tag,
      at: org(`${one}/approve`, { needs: 'write' }),
      params,
      body: ApproveBody,
      reply: Empty,
      run: (ctx, { scope, params: { upgrade_id: id }, body }) => approveOrgUpgrade(ctx, scope, parseApproval(id, body)),
    }),
    operation({
      id: 'retryOrgDeviceUpgrade',
      summary: 'Retry the failed devices of an upgrade',
      method: 'POST',
      tag,
      at: org(`${one}/retry`, { needs: 'write' }),
      params,
      body: RetryBody,
      reply: RetryReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
        presentRetry(await retryOrgUpgrade(ctx, scope, { id, macs: parseRetry(body) })),
    }),
    operation({
      id: 'excludeOrgDeviceUpgrade',
      summary: 'Exclude devices from an upgrade',
      method: 'POST',
      tag,
      at: org(`${one}/exclude`, { needs: 'write' }),
      params,
      body: ExcludeBody,
      reply: ExcludeReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
        presentExclusion(await excludeDevices(ctx, scope, { id, ...parseExclusion(body) })),
    }),
  ].flat()
