import type { OrgScope } from '../../access/scope.ts'
import { org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { shareSiteName } from '../store.ts'
import { inTx } from '../../platform/database/db.ts'
import { type CallHomePlace, junosCommands } from './junos-commands.ts'
import { rotateCallHomeSecret } from './rotate-secret.ts'
import { findCallHomeSecret } from './secret.ts'
import { sshUserKey } from './ssh-user.ts'
import { findKeyedDevice, listHostKeys } from './store.ts'
import { updateHostKeys } from './update-host-keys.ts'
import {
  HostKeysBody,
  HostKeysReply,
  JunosCommandsQuery,
  JunosCommandsReply,
  parseCommandsSite,
  parseHostKeys,
  presentHostKeys,
} from './wire.ts'

const tag = 'Orgs Devices'
const keys = '/devices/:device_id/ssh_host_keys'
const params = { device_id: Uuid }

/**
 * How Junos devices call home, and their known host keys. Source: contract, Orgs Devices.
 * @param placeOf The service's address for devices; null while it accepts no such connections.
 */
export function callHomeOperations(placeOf: () => CallHomePlace | null): Operation[] {
  return [
    operation({
      id: 'getOrgJuniperDevicesCommand',
      summary: 'Get the configuration commands by which Junos devices call home',
      method: 'GET',
      tag,
      // The commands contain a secret.
      at: org('/ocdevices/outbound_ssh_cmd', { needs: 'write' }),
      query: JunosCommandsQuery,
      reply: JunosCommandsReply,
      run: async (ctx, { scope, query }) => {
        await assertSite(ctx, scope, parseCommandsSite(query))
        const secret = await findCallHomeSecret(ctx, ctx.db, scope.orgId)
        if (secret === undefined) throw notFound(scope.orgId)
        return { cmd: commandsOf(ctx, scope, { secret, place: placeOf() }) }
      },
    }),
    operation({
      id: 'rotateOrgJuniperDevicesSecret',
      summary: 'Replace the secret by which new Junos devices call home',
      method: 'POST',
      tag,
      at: org('/ocdevices/outbound_ssh_cmd/rotate', { needs: 'admin' }),
      reply: JunosCommandsReply,
      run: async (ctx, { scope }) => {
        const place = placeOf()
        if (place === null) throw notListening()
        return { cmd: commandsOf(ctx, scope, { secret: await rotateCallHomeSecret(ctx, scope), place }) }
      },
    }),
    operation({
      id: 'getOrgDeviceHostKeys',
      summary: 'Get the SSH host keys by which a device is known when it calls home',
      method: 'GET',
      tag,
      at: org(keys, { needs: 'read' }),
      params,
      reply: HostKeysReply,
      run: async (ctx, { scope, params: { device_id: deviceId } }) => {
        const device = await findKeyedDevice(ctx.db, scope, deviceId)
        if (device === undefined) throw notFound(deviceId)
        return presentHostKeys(device.id, await listHostKeys(ctx.db, scope, device.id))
      },
    }),
    operation({
      id: 'updateOrgDeviceHostKeys',
      summary: 'Replace the SSH host keys by which a device is known when it calls home',
      method: 'PUT',
      tag,
      at: org(keys, { needs: 'write' }),
      params,
      body: HostKeysBody,
      reply: HostKeysReply,
      run: async (ctx, { scope, params: { device_id: deviceId }, body }) =>
        presentHostKeys(deviceId, await updateHostKeys(ctx, scope, { deviceId, fingerprints: parseHostKeys(body) })),
    }),
  ].flat()
}

async function assertSite(ctx: Context, scope: OrgScope, siteId: string | null): Promise<void> {
  if (siteId === null || (await inTx(ctx, (tx) => shareSiteName(tx, scope, siteId))) !== undefined) return
  throw invalidField('site_id', `the organization has no site ${siteId}`)
}

interface CommandsInput {
  readonly secret: string
  readonly place: CallHomePlace | null
}

function commandsOf(ctx: Context, { orgId }: OrgScope, { secret, place }: CommandsInput): string {
  if (place === null) throw notListening()
  return junosCommands({ ...place, orgId, secret, publicKey: sshUserKey(ctx.secrets).publicKey })
}

function notListening(): AppError {
  return new AppError('invalid', "Junos devices can't call home, because SIGNALBOX_NETCONF_PORT is not set")
}
