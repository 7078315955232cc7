import { plainMac } from '../devices/device.ts'
import { claimDevices } from '../devices/inventory/claim-devices.ts'
import type { ClaimGuesses } from '../devices/inventory/claim-guesses.ts'
import { ClaimBody, ClaimReply, presentClaim } from '../devices/inventory/wire.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, ListErrorReply } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { installer } from '../orgs/installers/at.ts'
import { notFound } from '../platform/errors.ts'
import { locateDevice } from './locate-device.ts'
import { provisionDevice, unassignDevice } from './provision-device.ts'
import { findInstallerChassis, listInstallerDevices } from './store.ts'
import { ChassisReply, presentChassis } from './wire-chassis.ts'
import {
  InstallerDeviceReply,
  InstallerDevicesQuery,
  ProvisionBody,
  deviceParams,
  parseFilter,
  parseProvision,
  presentDevice,
} from './wire.ts'

const tag = 'Installer'
const single = '/devices/:device_mac'

const locateOperations: Operation[] = [
  {
    id: 'startInstallerLocateDevice',
    summary: 'Make a device blink',
    kind: 'locate' as const,
  },
  { id: 'stopInstallerLocateDevice', summary: 'Stop the blinking of a device', kind: 'unlocate' as const },
].flatMap(({ id, summary, kind }) =>
  operation({
    id,
    summary,
    method: 'POST',
    tag,
    at: installer(`${single}/${kind}`),
    params: deviceParams,
    reply: Empty,
    run: (ctx, { scope, params }) => locateDevice(ctx, scope, { mac: plainMac(params.device_mac), kind }),
  }),
)

/** Devices from the point of view of the people who mount them. Source: contract, Installer. */
export function installerDeviceOperations(guesses: ClaimGuesses): Operation[] {
  return [...claimOperation(guesses), ...claimedOperations]
}

const claimOperation = (guesses: ClaimGuesses): Operation[] =>
  operation({
    id: 'claimInstallerDevices',
    summary: 'Claim devices as an installer',
    method: 'POST',
    tag,
    at: installer('/devices'),
    body: ClaimBody,
    reply: ClaimReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope: { scope }, caller: { principal }, body }) =>
      presentClaim(await guesses.limit({ scope, principal }, () => claimDevices(ctx, scope, body))),
  })

const claimedOperations: Operation[] = [
  listOperation({
    id: 'listInstallerListOfRecentlyClaimedDevices',
    summary: 'List the devices that were claimed recently',
    tag,
    at: installer('/devices'),
    query: InstallerDevicesQuery,
    item: InstallerDeviceReply,
    run: async (ctx, { scope, query, page }) => {
      const found = await listInstallerDevices(ctx.db, scope, { conditions: parseFilter(query), page })
      const now = ctx.clock.now()
      return presentPage(found, (device) => presentDevice(device, now))
    },
  }),
  operation({
    id: 'provisionInstallerDevices',
    summary: 'Name, place and assign a device as an installer',
    method: 'PUT',
    tag,
    at: installer(single),
    params: deviceParams,
    body: ProvisionBody,
    reply: Empty,
    run: (ctx, { scope, params, body }) => provisionDevice(ctx, scope, parseProvision(params.device_mac, body)),
  }),
  operation({
    id: 'unassignInstallerRecentlyClaimedDevice',
    summary: 'Unassign a recently claimed device',
    method: 'DELETE',
    tag,
    at: installer(single),
    params: deviceParams,
    reply: Empty,
    run: (ctx, { scope, params }) => unassignDevice(ctx, scope, plainMac(params.device_mac)),
  }),
  ...locateOperations,
  operation({
    id: 'getInstallerDeviceVirtualChassis',
    summary: 'Get the virtual chassis of a switch',
    method: 'GET',
    tag,
    // A Virtual Chassis is identified by its first member.
    at: installer('/devices/:fpc0_mac/vc'),
    params: { fpc0_mac: textOf('mac') },
    reply: ChassisReply,
    run: async (ctx, { scope, params }) => {
      const device = await findInstallerChassis(ctx.db, scope, plainMac(params.fpc0_mac))
      if (device === undefined) throw notFound(params.fpc0_mac)
      return presentChassis(device)
    },
  }),
].flat()
