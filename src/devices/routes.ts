import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type Caller, authorize, authorizeSite } from '../access/authorize.ts'
import type { SiteScope } from '../access/scope.ts'
import { parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams, SiteParams } from '../http/schemas.ts'
import { revealsSecrets } from '../orgs/reveal.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { restartDevice } from './commands/restart-device.ts'
import { type Device, findDevice } from './store.ts'
import { listDeviceNames, listSiteDevices } from './inventory/store.ts'
import { saveDevice } from './update-device.ts'
import {
  DeviceNamesReply,
  DeviceParams,
  DeviceReply,
  RestartBody,
  SiteDevicesQuery,
  UpdateDeviceBody,
  parseRestart,
  parseSiteDevices,
  presentDevice,
} from './wire.ts'

const tags = ['Sites Devices']

/** Devices of organizations and sites, and their restart. Source: spec, "Devices", 10; contract, Sites Devices. */
export function deviceRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const urlOf = (image: string): string => imageUrl(ctx, image)
  const presenterFor = async (caller: Caller, scope: SiteScope) => {
    const withSecrets = await revealsSecrets(ctx, caller, scope)
    return (device: Device) => presentDevice(device, { urlOf, withSecrets })
  }
  return async (http) => {
    http.get(
      '/orgs/:org_id/devices',
      {
        schema: {
          operationId: 'listOrgDevices',
          tags: ['Orgs Devices'],
          params: OrgParams,
          response: { 200: DeviceNamesReply },
        },
      },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const devices = await listDeviceNames(ctx.db, scope)
        return { results: devices.map(({ mac, name }) => ({ mac, name: name ?? '' })) }
      },
    )

    http.get(
      '/sites/:site_id/devices',
      {
        schema: {
          operationId: 'listSiteDevices',
          tags,
          params: SiteParams,
          querystring: SiteDevicesQuery,
          response: { 200: Type.Array(DeviceReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listSiteDevices(ctx.db, scope, { filter: parseSiteDevices(query), page })
        setPageHeaders(reply, page, found)
        return found.rows.map(await presenterFor(caller, scope))
      },
    )

    http.get(
      '/sites/:site_id/devices/:device_id',
      { schema: { operationId: 'getSiteDevice', tags, params: DeviceParams, response: { 200: DeviceReply } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const device = await findDevice(ctx.db, scope, params.device_id)
        if (device === undefined) throw notFound(params.device_id)
        const present = await presenterFor(caller, scope)
        return present(device)
      },
    )

    http.put(
      '/sites/:site_id/devices/:device_id',
      {
        schema: {
          operationId: 'updateSiteDevice',
          tags,
          params: DeviceParams,
          body: UpdateDeviceBody,
          response: { 200: DeviceReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const present = await presenterFor(caller, scope)
        return present(await saveDevice(ctx, scope, { deviceId: params.device_id, change: body }))
      },
    )

    http.post(
      '/sites/:site_id/devices/:device_id/restart',
      {
        schema: {
          operationId: 'restartSiteDevice',
          tags,
          params: DeviceParams,
          body: RestartBody,
          response: { 200: Empty },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'operate' })
        await restartDevice(ctx, scope, { deviceId: params.device_id, part: parseRestart(body) })
        return {}
      },
    )
  }
}
