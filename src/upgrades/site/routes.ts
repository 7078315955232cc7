import { Type } from 'typebox'
import { deviceIdOf, plainMac } from '../../devices/device.ts'
import { org, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { assertCallable } from '../../platform/assert-callable.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import { findRequest } from '../previews/find-request.ts'
import { previewUpgrade } from '../previews/preview-upgrade.ts'
import { PlanOutdatedReply, UpgradePreviewReply, presentPreview } from '../previews/wire.ts'
import { checkUrlsOf } from '../strategies/gate-fields.ts'
import { createSiteUpgrade } from './create-site-upgrade.ts'
import { getSiteUpgrade, listSiteUpgrades } from './store.ts'
import { previewDeviceUpgrade, upgradeDevice, upgradeDeviceByMac } from './upgrade-device.ts'
import {
  DeviceUpgradeBody,
  DeviceUpgradeReply,
  JsiUpgradeBody,
  SiteUpgradeBody,
  SiteUpgradeDetailReply,
  SiteUpgradeIdReply,
  SiteUpgradeListReply,
  SiteUpgradesQuery,
  parseSiteUpgrade,
  parseSiteUpgrades,
  presentDeviceUpgrade,
  presentSiteUpgradeDetail,
  presentSiteUpgradeItem,
} from './wire.ts'

const tag = 'Upgrades'

/**
 * Device upgrades of a site, and of one device. Source: contract, Utilities Upgrade.
 * @param outbound Decides which addresses checks may call.
 */
export const siteUpgradeOperations = (outbound: OutboundHttp): Operation[] =>
  [
    operation({
      id: 'upgradeSiteDevices',
      summary: 'Upgrade the devices of a site in phases',
      method: 'POST',
      tag,
      at: site('/devices/upgrade', { needs: 'write' }),
      body: SiteUpgradeBody,
      reply: Type.Union([SiteUpgradeIdReply, UpgradePreviewReply]),
      errors: { 409: PlanOutdatedReply },
      run: async (ctx, { scope, body: sent }) => {
        const origin = `site ${scope.siteId}`
        const body = await findRequest(ctx, scope, { body: sent, origin })
        const request = parseSiteUpgrade(body, scope.siteId)
        await assertCallable(outbound, checkUrlsOf(body.phase_gates), scope)
        if (body.dry_run === true)
          return presentPreview(await previewUpgrade(ctx, scope, { request, origin, body }), body)
        return { upgrade_id: await createSiteUpgrade(ctx, scope, request) }
      },
    }),
    listOperation({
      id: 'listSiteDeviceUpgrades',
      summary: 'List the upgrades of a site',
      tag,
      at: site('/devices/upgrade', { needs: 'read' }),
      query: SiteUpgradesQuery,
      item: SiteUpgradeListReply,
      run: async (ctx, { scope, query, page }) =>
        presentPage(
          await listSiteUpgrades(ctx.db, scope, { conditions: parseSiteUpgrades(query), page }),
          presentSiteUpgradeItem,
        ),
    }),
    operation({
      id: 'getSiteDeviceUpgrade',
      summary: 'Get an upgrade of a site with the state of each device',
      method: 'GET',
      tag,
      at: site('/devices/upgrade/:upgrade_id', { needs: 'read' }),
      params: { upgrade_id: Uuid },
      reply: SiteUpgradeDetailReply,
      run: async (ctx, { scope, params: { upgrade_id: id } }) =>
        presentSiteUpgradeDetail(await getSiteUpgrade(ctx.db, scope, id)),
    }),
    operation({
      id: 'upgradeDevice',
      summary: 'Upgrade a device',
      method: 'POST',
      tag,
      at: site('/devices/:device_id/upgrade', { needs: 'write' }),
      params: { device_id: Uuid },
      body: DeviceUpgradeBody,
      reply: Type.Union([DeviceUpgradeReply, UpgradePreviewReply]),
      errors: { 409: PlanOutdatedReply },
      run: async (ctx, { scope, params: { device_id: deviceId }, body: sent }) => {
        const origin = `device ${deviceId}`
        const body = await findRequest(ctx, scope, { body: sent, origin })
        const request = parseSiteUpgrade({ ...body, device_ids: [deviceId] }, scope.siteId)
        if (body.dry_run === true)
          return presentPreview(await previewDeviceUpgrade(ctx, scope, { deviceId, request, origin, body }), body)
        return presentDeviceUpgrade(await upgradeDevice(ctx, scope, { deviceId, request }))
      },
    }),
    operation({
      id: 'upgradeOrgJsiDevice',
      summary: 'Upgrade a switch or gateway by its MAC address, and reboot it',
      method: 'POST',
      tag,
      at: org('/jsi/devices/:device_mac/upgrade', { needs: 'write' }),
      params: { device_mac: textOf('mac') },
      body: JsiUpgradeBody,
      reply: DeviceUpgradeReply,
      run: async (ctx, { scope, params: { device_mac: text }, body }) => {
        const mac = plainMac(text)
        // The request has no field for a reboot, and without one the device would not run the version.
        const requestAt = (siteId: string) =>
          parseSiteUpgrade({ ...body, reboot: true, device_ids: [deviceIdOf(mac)] }, siteId)
        return presentDeviceUpgrade(await upgradeDeviceByMac(ctx, scope, { mac, requestAt }))
      },
    }),
  ].flat()
