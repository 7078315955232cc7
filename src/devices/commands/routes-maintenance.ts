import { site } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, TextErrorReply, Uuid } from '../../http/schemas.ts'
import { maintainDevices } from './maintain-devices.ts'
import { RestoreDevicesBody } from './wire.ts'

const tag = 'Sites Devices'
const one = '/devices/:device_id'
const params = { device_id: Uuid }
const errors = { 400: TextErrorReply }

/** Restore of the backup firmware, and recovery snapshots. Source: spec, "Devices", 11; contract, Utilities LAN. */
export const deviceMaintenanceOperations: Operation[] = [
  operation({
    id: 'restoreSiteDeviceBackupVersion',
    summary: 'Restore the firmware that a switch ran before',
    method: 'POST',
    tag,
    at: site(`${one}/restore_backup_version`, { needs: 'operate' }),
    params,
    reply: Empty,
    errors,
    run: (ctx, { scope, params: { device_id: deviceId } }) =>
      maintainDevices(ctx, scope, { kind: 'restore_backup', deviceIds: [deviceId] }),
  }),
  operation({
    id: 'restoreSiteMultipleDeviceBackupVersion',
    summary: 'Restore the firmware that several switches ran before',
    method: 'POST',
    tag,
    at: site('/devices/restore_backup_version', { needs: 'operate' }),
    body: RestoreDevicesBody,
    reply: Empty,
    errors,
    run: (ctx, { scope, body: { device_ids: deviceIds } }) =>
      maintainDevices(ctx, scope, { kind: 'restore_backup', deviceIds }),
  }),
  operation({
    id: 'createSiteDeviceSnapshot',
    summary: 'Make a device take a recovery snapshot',
    method: 'POST',
    tag,
    at: site(`${one}/snapshot`, { needs: 'operate' }),
    params,
    reply: Empty,
    errors,
    run: (ctx, { scope, params: { device_id: deviceId } }) =>
      maintainDevices(ctx, scope, { kind: 'snapshot', deviceIds: [deviceId] }),
  }),
].flat()
