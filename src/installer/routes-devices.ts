import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { claimDevices } from '../devices/inventory/claim-devices.ts'
import { ClaimBody, ClaimReply, presentClaim } from '../devices/inventory/wire.ts'
import { parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import { authorizeInstaller } from '../orgs/installers/authorize-installer.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { locateDevice } from './locate-device.ts'
import { provisionDevice, unassignDevice } from './provision-device.ts'
import { findInstallerDevice, listInstallerDevices } from './store.ts'
import {
  ChassisParams,
  ChassisReply,
  DeviceParams,
  InstallerDeviceReply,
  InstallerDevicesQuery,
  ProvisionBody,
  macOf,
  parseFilter,
  parseProvision,
  presentChassis,
  presentDevice,
} from './wire.ts'

const tags = ['Installer']
const list = '/installer/orgs/:org_id/devices'
const one = `${list}/:device_mac`
const response = { 200: Empty }

/** Devices in the hands of those who mount them. Source: contract, Installer. */
export function installerDeviceRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      list,
      {
        schema: {
          operationId: 'listInstallerListOfRecentlyClaimedDevices',
          tags,
          params: OrgParams,
          querystring: InstallerDevicesQuery,
          response: { 200: Type.Array(InstallerDeviceReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        const page = parsePage(query)
        const found = await listInstallerDevices(ctx.db, installer, { filter: parseFilter(query), page })
        setPageHeaders(reply, page, found)
        const now = ctx.clock.now()
        return found.rows.map((device) => presentDevice(device, now))
      },
    )

    http.post(
      list,
      {
        schema: {
          operationId: 'claimInstallerDevices',
          tags,
          params: OrgParams,
          body: ClaimBody,
          response: { 200: ClaimReply },
        },
      },
      async ({ caller, params, body }) => {
        const { scope } = await authorizeInstaller(ctx, caller, params.org_id)
        return presentClaim(await claimDevices(ctx, scope, body))
      },
    )

    http.put(
      one,
      {
        schema: {
          operationId: 'provisionInstallerDevices',
          tags,
          params: DeviceParams,
          body: ProvisionBody,
          response,
        },
      },
      async ({ caller, params, body }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        await provisionDevice(ctx, installer, parseProvision(params.device_mac, body))
        return {}
      },
    )

    http.delete(
      one,
      {
        schema: {
          operationId: 'unassignInstallerRecentlyClaimedDevice',
          tags,
          params: DeviceParams,
          response,
        },
      },
      async ({ caller, params }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        await unassignDevice(ctx, installer, macOf(params.device_mac))
        return {}
      },
    )

    http.post(
      `${one}/locate`,
      { schema: { operationId: 'startInstallerLocateDevice', tags, params: DeviceParams, response } },
      async ({ caller, params }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        await locateDevice(ctx, installer, { mac: macOf(params.device_mac), kind: 'locate' })
        return {}
      },
    )

    http.post(
      `${one}/unlocate`,
      { schema: { operationId: 'stopInstallerLocateDevice', tags, params: DeviceParams, response } },
      async ({ caller, params }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        await locateDevice(ctx, installer, { mac: macOf(params.device_mac), kind: 'unlocate' })
        return {}
      },
    )

    http.get(
      `${list}/:fpc0_mac/vc`,
      {
        schema: {
          operationId: 'getInstallerDeviceVirtualChassis',
          tags,
          params: ChassisParams,
          response: { 200: ChassisReply },
        },
      },
      async ({ caller, params }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        const device = await findInstallerDevice(ctx.db, installer, macOf(params.fpc0_mac))
        if (device === undefined) throw notFound(params.fpc0_mac)
        return presentChassis(device)
      },
    )
  }
}
