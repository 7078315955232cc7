import { site } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, ListErrorReply, Uuid } from '../../http/schemas.ts'
import { locateDevice } from './locate-device.ts'
import { restartDevices } from './restart-device.ts'
import {
  LocateBody,
  RestartDevicesBody,
  RestartDevicesReply,
  parseLocate,
  parseRestartDevices,
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
    summary: 'Let a device of a site blink so that it can be found',
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
].flat()
