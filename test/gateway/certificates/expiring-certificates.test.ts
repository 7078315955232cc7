// A device whose certificate the service can't renew: its organization hears of it long before the device is locked out.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { openStorage } from '../../../src/app/storage.ts'
import { watchConditions } from '../../../src/app/conditions/system-conditions.ts'
import { DEFAULT_DOWNLOAD_LIMITS } from '../../../src/firmware/downloads/download-limits.ts'
import { issueDeviceCertificate } from '../../../src/gateway/certificates/device-ca.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, newMac, openDevice } from '../harness.ts'

const DAY_MS = 24 * 3_600_000

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

async function watch(): Promise<void> {
  const limits = { orgMaxBytes: 0, totalMaxBytes: 0 }
  const storage = openStorage(harness.ctx, await temporaryDir(), {
    firmwareMaxBytes: 0,
    firmwareTrust: { keys: [], isRequired: false },
    firmwareDownloads: DEFAULT_DOWNLOAD_LIMITS,
    s3: null,
    ...{ firmware: limits, pictures: limits, support: limits, diskReserveBytes: 0 },
  })
  await watchConditions(harness.ctx, { storage, certificates: [] })
}

const eventsOf = (orgId: string) =>
  harness.ctx.db.selectFrom('systemEvent').select(['type', 'text']).where('orgId', '=', orgId).orderBy('id').execute()

const openAlarms = (orgId: string) =>
  harness.ctx.db
    .selectFrom('alarm')
    .select(['type', 'details'])
    .where('orgId', '=', orgId)
    .where('endedAt', 'is', null)
    .execute()

async function epochOf(mac: string): Promise<unknown> {
  const { rows } = await sql<{ epoch: string }>`select status.epoch from device_status status
    join device on device.org_id = status.org_id and device.id = status.device_id where device.mac = ${mac}`.execute(
    harness.ctx.db,
  )
  return rows[0]?.epoch
}

async function connect(mac: string, at: Date): Promise<void> {
  const before = await epochOf(mac)
  const gateway = await harness.start()
  const identity = await issueDeviceCertificate(harness.ca, mac, at)
  const device = await openDevice(gateway.port, harness.ca, { mac, identity })
  device.hello()
  // A stopped gateway leaves the device connected, so only a new epoch shows that this session is recorded.
  await waitUntil('connected', async () => (await epochOf(mac)) !== before)
  device.socket.terminate()
  await gateway.stop()
}

test('its organization gets an event and an alarm 90 days before, until the device has connected with another one', async () => {
  const [mac, other] = [newMac(), newMac()]
  await harness.claim(mac)
  await harness.claim(other, 'switch')
  const issuedAt = harness.ctx.clock.now()
  await connect(mac, issuedAt)
  await connect(other, issuedAt)
  const expiresAt = new Date(issuedAt)
  expiresAt.setUTCFullYear(expiresAt.getUTCFullYear() + 10)
  harness.advance(expiresAt.getTime() - issuedAt.getTime() - 91 * DAY_MS)
  await watch()
  expect(await eventsOf(harness.orgId)).toEqual([])
  harness.advance(2 * DAY_MS)
  await watch()
  await watch()
  const day = expiresAt.toISOString().slice(0, 10)
  expect(await eventsOf(harness.orgId)).toEqual([
    {
      type: 'DEVICE_CERTIFICATE_EXPIRING',
      text: expect.stringMatching(
        new RegExp(`^The certificates of 2 devices expire, that of .* first: it expires on ${day}$`),
      ),
    },
  ])
  expect(await openAlarms(harness.orgId)).toEqual([
    { type: 'device_certificate_expiring', details: { aps: [mac], switches: [other], gateways: [] } },
  ])
  await connect(mac, harness.ctx.clock.now())
  await connect(other, harness.ctx.clock.now())
  harness.advance(1000)
  // The devices may still count as connected by their former certificates until their new sessions are recorded.
  await waitUntil('renewed', async () => {
    await watch()
    return (await eventsOf(harness.orgId)).at(-1)?.type === 'DEVICE_CERTIFICATE_RENEWED'
  })
  expect(await openAlarms(harness.orgId)).toEqual([])
})
