import { Type } from 'typebox'
import { org } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Uuid } from '../http/schemas.ts'
import { assertCallable } from '../platform/assert-callable.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import { createOrgUpgrade } from './creation/create-org-upgrade.ts'
import { findRequest } from './previews/find-request.ts'
import { previewUpgrade } from './previews/preview-upgrade.ts'
import { PlanOutdatedReply, UpgradePreviewReply, presentPreview } from './previews/wire.ts'
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

const tag = 'Upgrades'

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
          return presentPreview(await previewUpgrade(ctx, scope, { request, origin, body }), body)
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
      at: org('/devices/upgrade/:upgrade_id', { needs: 'read' }),
      params: { upgrade_id: Uuid },
      reply: OrgUpgradeReply,
      run: async (ctx, { scope, params: { upgrade_id: id } }) =>
        presentOrgUpgrade(await getOrgUpgrade(ctx.db, scope, id)),
    }),
  ].flat()
