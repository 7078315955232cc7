import { site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, ListErrorReply, Uuid } from '../../http/schemas.ts'
import { notFound } from '../../platform/errors.ts'
import { findDevice } from '../store.ts'
import { locateDevice } from './locate-device.ts'
import { pingFromDevice } from './ping-from-device.ts'
import { restartDevices } from './restart-device.ts'
import { findDeviceCommand, listDeviceCommands } from './store-list.ts'
import {
  CommandDetailReply,
  CommandReply,
  LocateBody,
  PingBody,
  PingReply,
  RestartDevicesBody,
  RestartDevicesReply,
  parseLocate,
  parsePing,
  parseRestartDevices,
  presentCommand,
  presentCommandDetail,
  presentRestarts,
} from './wire.ts'

const tag = 'Sites Devices'
const one = '/devices/:device_id'
const params = { device_id: Uuid }

/** Commands that people send to devices. Source: contract, Utilities Common. */
export const deviceCommandOperations: Operation[] = [
  operation({
    id: 'restartSiteMultipleDevices',
    summary: 'Restart the connected ones of several devices',
    method: 'POST',
    tag,
    at: site('/devices/restart', { needs: 'operate' }),
    body: RestartDevicesBody,
    reply: RestartDevicesReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, body }) => presentRestarts(await restartDevices(ctx, scope, parseRestartDevices(body))),
  }),
  operation({
    id: 'startSiteLocateDevice',
    summary: 'Make a device of a site blink',
    method: 'POST',
    tag,
    at: site(`${one}/locate`, { needs: 'operate' }),
    params,
    body: LocateBody,
    reply: Empty,
    run: (ctx, { scope, params: { device_id: deviceId }, body }) =>
      locateDevice(ctx, scope, { deviceId, ...parseLocate(body) }),
  }),
  operation({
    id: 'stopSiteLocateDevice',
    summary: 'Stop the blinking of a device of a site',
    method: 'POST',
    tag,
    at: site(`${one}/unlocate`, { needs: 'operate' }),
    params,
    reply: Empty,
    run: (ctx, { scope, params: { device_id: deviceId } }) =>
      locateDevice(ctx, scope, { deviceId, order: { kind: 'unlocate', params: {} }, mac: null }),
  }),
  operation({
    id: 'pingFromDevice',
    summary: 'Make a device send pings',
    method: 'POST',
    tag,
    at: site(`${one}/ping`, { needs: 'operate' }),
    params,
    body: PingBody,
    reply: PingReply,
    run: async (ctx, { scope, params: { device_id: deviceId }, body }) => ({
      session: await pingFromDevice(ctx, scope, { deviceId, params: parsePing(body) }),
    }),
  }),
  listOperation({
    id: 'listSiteDeviceCommands',
    summary: 'List the commands of people and of upgrades to a device',
    tag,
    at: site(`${one}/commands`, { needs: 'read' }),
    params,
    item: CommandReply,
    run: async (ctx, { scope, params: { device_id: deviceId }, page }) => {
      if ((await findDevice(ctx.db, scope, deviceId)) === undefined) throw notFound(deviceId)
      return presentPage(await listDeviceCommands(ctx.db, scope, { deviceId, page }), presentCommand)
    },
  }),
  operation({
    id: 'getSiteDeviceCommand',
    summary: 'Get a command of a device with its output',
    method: 'GET',
    tag,
    at: site(`${one}/commands/:command_id`, { needs: 'read' }),
    params: { ...params, command_id: Uuid },
    reply: CommandDetailReply,
    run: async (ctx, { scope, params: { device_id: deviceId, command_id: id } }) => {
      const command = await findDeviceCommand(ctx.db, scope, { deviceId, id })
      if (command === undefined) throw notFound(id)
      return presentCommandDetail(command)
    },
  }),
].flat()
