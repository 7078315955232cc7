import { Type } from 'typebox'
import { org, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { findRequest } from '../previews/find-request.ts'
import { PlanOutdatedReply, UpgradePreviewReply, presentPreview } from '../previews/wire.ts'
import { createSsrUpgrade, previewSsrUpgrade } from './create-ssr-upgrade.ts'
import { listSsrVersions } from './list-ssr-versions.ts'
import { getSsrUpgrade, listSsrUpgrades } from './store.ts'
import {
  RouterUpgradeBody,
  SsrUpgradeBody,
  SsrUpgradeReply,
  SsrUpgradeStatusReply,
  SsrVersionsQuery,
  SsrVersionsReply,
  parseSsrUpgrade,
  parseVersionChoice,
  presentSsrUpgrade,
  presentSsrUpgradeStatus,
  presentSsrVersion,
} from './wire.ts'

const tag = 'Upgrades'
const params = { upgrade_id: Uuid }
const one = '/ssr/upgrade/:upgrade_id'

/** The contract publishes the detail under the path of the cancellation; the plain path is ours. */
const detailOperations: Operation[] = (
  [
    { id: 'getOrgSsrUpgrade', path: `${one}/cancel`, summary: 'under the path of its cancellation' },
    { id: 'getOrgSsrUpgradeStatus', path: one, summary: 'with the state of each' },
  ] as const
).flatMap(({ id, path, summary }) =>
  operation({
    id,
    summary: `Get an upgrade of SSR routers ${summary}`,
    method: 'GET',
    tag,
    at: org(path, { needs: 'read' }),
    params,
    reply: SsrUpgradeStatusReply,
    run: async (ctx, { scope, params: { upgrade_id: upgradeId } }) =>
      presentSsrUpgradeStatus(await getSsrUpgrade(ctx.db, scope, upgradeId)),
  }),
)

/** Upgrades of SSR routers. Source: spec, "Devices", operation 15; contract, Utilities Upgrade. */
export const ssrUpgradeOperations: Operation[] = [
  operation({
    id: 'upgradeOrgSsrs',
    summary: 'Upgrade SSR routers of an organization',
    method: 'POST',
    tag,
    at: org('/ssr/upgrade', { needs: 'write' }),
    body: SsrUpgradeBody,
    reply: Type.Union([SsrUpgradeReply, UpgradePreviewReply]),
    errors: { 409: PlanOutdatedReply },
    run: async (ctx, { scope, body: sent }) => {
      const origin = 'ssr'
      const body = await findRequest(ctx, scope, { body: sent, origin })
      const wanted = parseSsrUpgrade(body)
      if (body.dry_run === true)
        return presentPreview(await previewSsrUpgrade(ctx, scope, { wanted, origin, body }), body)
      return presentSsrUpgrade(await createSsrUpgrade(ctx, scope, wanted))
    },
  }),
  listOperation({
    id: 'listOrgSsrUpgrades',
    summary: 'List the upgrades of SSR routers of an organization',
    tag,
    at: org('/ssr/upgrade', { needs: 'read' }),
    item: SsrUpgradeReply,
    run: async (ctx, { scope, page }) => presentPage(await listSsrUpgrades(ctx.db, scope, page), presentSsrUpgrade),
  }),
  ...detailOperations,
  operation({
    id: 'listOrgAvailableSsrVersions',
    summary: 'List the versions for SSR routers in a channel',
    method: 'GET',
    tag,
    at: org('/ssr/versions', { needs: 'read' }),
    query: SsrVersionsQuery,
    reply: SsrVersionsReply,
    run: async (ctx, { scope, query }) =>
      (await listSsrVersions(ctx.db, scope, parseVersionChoice(query))).map(presentSsrVersion),
  }),
  operation({
    id: 'upgradeSsr',
    summary: 'Upgrade an SSR router',
    method: 'POST',
    tag,
    at: site('/ssr/:device_id/upgrade', { needs: 'write' }),
    params: { device_id: Uuid },
    body: RouterUpgradeBody,
    reply: Type.Union([SsrUpgradeReply, UpgradePreviewReply]),
    errors: { 409: PlanOutdatedReply },
    run: async (ctx, { scope, params: { device_id: deviceId }, body: sent }) => {
      const origin = `router ${deviceId}`
      const body = await findRequest(ctx, scope, { body: sent, origin })
      const wanted = { ...parseSsrUpgrade({ ...body, device_ids: [deviceId] }), isNamedByPath: true }
      if (body.dry_run === true)
        return presentPreview(await previewSsrUpgrade(ctx, scope, { wanted, origin, body }), body)
      return presentSsrUpgrade(await createSsrUpgrade(ctx, scope, wanted))
    },
  }),
  operation({
    id: 'getSiteSsrUpgrade',
    summary: 'Get the part of an upgrade of SSR routers at a site',
    method: 'GET',
    tag,
    at: site(one, { needs: 'read' }),
    params,
    reply: SsrUpgradeStatusReply,
    run: async (ctx, { scope, params: { upgrade_id: upgradeId } }) =>
      presentSsrUpgradeStatus(await getSsrUpgrade(ctx.db, scope, upgradeId)),
  }),
].flat()
