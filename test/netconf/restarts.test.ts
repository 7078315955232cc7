// Members and nodes that restart individually: the command ends when the part has gone and is back.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { JunosDeviceOptions } from '../../src/simulator/junos/junos-device.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { startJunos, testNetconf, untilSession } from './harness.ts'

const MIN_MS = 60_000

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const chassis = { model: 'ex4100-48p', form: 'virtual_chassis', type: 'switch' } as const
const cluster = { model: 'srx345', form: 'cluster', type: 'gateway' } as const

async function startGateway() {
  return harness.start({ protocols: [testNetconf(harness.ctx, { pollMs: MIN_MS, returnPollMs: 1 })] })
}

/** Starts a device whose parts are absent until `boot` is called. */
async function start(kind: typeof chassis | typeof cluster, more: Partial<JunosDeviceOptions> = {}) {
  const gateway = await startGateway()
  const { type, ...device } = kind
  const mac = newMac()
  await harness.claim(mac, type)
  const booting = Promise.withResolvers<void>()
  const junos = startJunos({
    ...device,
    ...more,
    mac,
    port: gateway.portOf('junos'),
    ctx: harness.ctx,
    orgId: harness.orgId,
    call: { onBoot: () => booting.promise },
  })
  onTestFinished(() => booting.resolve())
  const { epoch } = await untilSession(harness, mac)
  return { mac, epoch, junos, boot: () => booting.resolve() }
}

const versionsOf = async (mac: string): Promise<string[]> => {
  const { members } = await harness.ctx.db
    .selectFrom('deviceStatus')
    .select('members')
    .where('deviceId', '=', deviceIdOf(mac))
    .executeTakeFirstOrThrow()
  return (members ?? []).map(({ firmware }) => firmware)
}

const restart = (mac: string, params: object) => harness.queue(mac, { kind: 'restart', params })

async function eventsOf(mac: string) {
  const rows = await harness.ctx.db
    .selectFrom('deviceEvent')
    .select(['type', 'event'])
    .where('deviceId', '=', deviceIdOf(mac))
    .orderBy('id')
    .execute()
  return rows.filter(({ type }) => /RESTART/.test(type)).map(({ type, event }) => [type, event.text])
}

/** Advances the clock, so that the device is polled again. */
const untilAsked = (what: string, check: () => Promise<boolean>) =>
  waitUntil(what, async () => {
    harness.advance(10)
    return check()
  })

const untilAway = (mac: string, index: number) =>
  untilAsked('the part is away', async () => (await versionsOf(mac))[index] === '')

async function untilEnded(id: string, state: 'done' | 'unknown') {
  await untilAsked(state, async () => (await harness.command(id)).state === state)
  return harness.command(id)
}

describe('a restart of one part', () => {
  test.each([
    ['member', { kind: chassis, params: { member: 2 }, index: 2, event: ['SW_PART_RESTARTED', 'member 2'] }],
    ['node', { kind: cluster, params: { node: 'node1' }, index: 1, event: ['GW_PART_RESTARTED', 'node1'] }],
  ] as const)('is done when the %s has gone and is back', async (_, { kind, params, index, event }) => {
    const { mac, epoch, junos, boot } = await start(kind)
    const id = await restart(mac, params)
    await untilAway(mac, index)
    expect(await harness.command(id)).toMatchObject({ state: 'sent' })
    expect(await eventsOf(mac)).toEqual([])
    boot()
    await untilEnded(id, 'done')
    expect(junos.device.journal).toEqual([`reboot ${index}`])
    expect(await eventsOf(mac)).toEqual([event])
    expect((await untilSession(harness, mac)).epoch).toBe(epoch)
  })

  test('that holds the connection is done when it is back on the next connection, and no restart of the device', async () => {
    const { mac, epoch, boot } = await start(chassis, { faults: ['silent_reboot'] })
    const id = await restart(mac, { member: 0 })
    await waitUntil('the disconnection', async () => !(await harness.status(mac)).connected)
    expect(await harness.command(id)).toMatchObject({ state: 'sent' })
    boot()
    await untilSession(harness, mac, epoch)
    await untilEnded(id, 'done')
    expect(await eventsOf(mac)).toEqual([['SW_PART_RESTARTED', 'member 0']])
  })

  test('is not a restart of the device if the other members were up for a shorter time', async () => {
    const { mac, epoch, junos, boot } = await start(chassis, { faults: ['silent_reboot'] })
    const [, ...others] = junos.device.chassis
    for (const other of others) other.bootedAtMs += 2 * MIN_MS
    const uptimes = async () =>
      (
        await harness.ctx.db.selectFrom('deviceStatus').select('load').where('deviceId', '=', deviceIdOf(mac)).execute()
      )[0]?.load?.['uptime_s']
    await waitUntil('the first report', async () => (await uptimes()) === 86_400)
    const id = await restart(mac, { member: 0 })
    await waitUntil('the disconnection', async () => !(await harness.status(mac)).connected)
    boot()
    await untilSession(harness, mac, epoch)
    await untilEnded(id, 'done')
    await waitUntil('the report of the other members', async () => (await uptimes()) !== 86_400)
    expect(await eventsOf(mac)).toEqual([['SW_PART_RESTARTED', 'member 0']])
  })

  test('does not keep other commands waiting', async () => {
    const { mac, junos } = await start(chassis)
    const id = await restart(mac, { member: 2 })
    await untilAway(mac, 2)
    await harness.untilCommand(await harness.queue(mac, { kind: 'snapshot', params: {} }), 'done')
    expect(junos.device.journal).toEqual(['reboot 2', 'snapshot'])
    expect(await harness.command(id)).toMatchObject({ state: 'sent' })
  })

  test('that does not come back has an unknown end after 30 minutes', async () => {
    const { mac } = await start(chassis, { faults: ['never_returns'] })
    const id = await restart(mac, { member: 1 })
    await untilAway(mac, 1)
    harness.advance(29 * MIN_MS)
    expect(await harness.command(id)).toMatchObject({ state: 'sent' })
    harness.advance(MIN_MS)
    expect(await untilEnded(id, 'unknown')).toMatchObject({ outcome: { why: 'timeout' } })
    expect(await eventsOf(mac)).toEqual([['SW_RESTART_FAILED', 'member 1: it was not seen to restart in time']])
  })
})
