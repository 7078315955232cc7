import type { Caller } from '../access/authorize.ts'
import type { SiteScope } from '../access/scope.ts'
import { orgSites, site } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { revealTo } from '../orgs/secrets/reveal.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { restartDevice } from './commands/restart-device.ts'
import { listDeviceNames, listSiteDevices } from './inventory/store.ts'
import { type Device, findDevice } from './store.ts'
import { updateDevice } from './update-device.ts'
import {
  DeviceNamesReply,
  DeviceReply,
  type Presenting,
  RestartBody,
  SiteDevicesQuery,
  UpdateDeviceBody,
  parseRestart,
  parseSiteDevices,
  presentDevice,
} from './wire.ts'

const tag = 'Sites Devices'
const one = '/devices/:device_id'
const params = { device_id: Uuid }

/** Devices of organizations and sites, and their restart. Source: spec, "Devices", 10; contract, Sites Devices. */
export const deviceOperations: Operation[] = [
  operation({
    id: 'listOrgDevices',
    summary: 'List the names of all devices of an organization',
    method: 'GET',
    tag: 'Orgs Devices',
    at: orgSites('/devices', { needs: 'read' }),
    reply: DeviceNamesReply,
    run: async (ctx, { scope }) => {
      const devices = await listDeviceNames(ctx.db, scope)
      return { results: devices.map(({ mac, name }) => ({ mac, name: name ?? '' })) }
    },
  }),
  listOperation({
    id: 'listSiteDevices',
    summary: 'List the devices of a site',
    tag,
    at: site('/devices', { needs: 'read' }),
    query: SiteDevicesQuery,
    item: DeviceReply,
    run: async (ctx, { scope, caller, query, page }) => {
      const found = await listSiteDevices(ctx.db, scope, { conditions: parseSiteDevices(query), page })
      return presentPage(found, await presenterFor(ctx, caller, scope))
    },
  }),
  operation({
    id: 'getSiteDevice',
    summary: 'Get a device',
    method: 'GET',
    tag,
    at: site(one, { needs: 'read' }),
    params,
    reply: DeviceReply,
    run: async (ctx, { scope, caller, params: { device_id: id } }) => {
      const device = await findDevice(ctx.db, scope, id)
      if (device === undefined) throw notFound(id)
      const present = await presenterFor(ctx, caller, scope)
      return present(device)
    },
  }),
  operation({
    id: 'updateSiteDevice',
    summary: 'Update a device',
    method: 'PUT',
    tag,
    at: site(one, { needs: 'write' }),
    params,
    body: UpdateDeviceBody,
    reply: DeviceReply,
    run: async (ctx, { scope, caller, params: { device_id: deviceId }, body }) => {
      const device = await updateDevice(ctx, scope, { deviceId, change: body })
      return presentDevice(device, { urlOf: urlsOf(ctx), reveal: await revealTo(ctx, caller, scope, body) })
    },
  }),
  operation({
    id: 'restartSiteDevice',
    summary: 'Restart a device',
    method: 'POST',
    tag,
    at: site(`${one}/restart`, { needs: 'operate' }),
    params,
    body: RestartBody,
    reply: Empty,
    run: (ctx, { scope, params: { device_id: deviceId }, body }) =>
      restartDevice(ctx, scope, { deviceId, part: parseRestart(body) }),
  }),
].flat()

async function presenterFor(ctx: Context, caller: Caller, scope: SiteScope) {
  const presenting = await presentingFor(ctx, caller, scope)
  return (device: Device) => presentDevice(device, presenting)
}

/** Returns how to present devices of the site to the caller. */
export async function presentingFor(ctx: Context, caller: Caller, scope: SiteScope): Promise<Presenting> {
  return { urlOf: urlsOf(ctx), reveal: await revealTo(ctx, caller, scope) }
}

function urlsOf(ctx: Context): Presenting['urlOf'] {
  return (image) => imageUrl(ctx, image)
}
