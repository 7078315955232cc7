import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordCommandsSent, sweepCommands } from '../../../src/devices/commands/record-commands.ts'
import { recordRecovery } from '../../../src/devices/sessions/record-recovery.ts'
import type { TargetState } from '../../../src/rollout/tables.ts'
import { releaseDevices } from '../../support/fleets/device-upgrades.ts'
import type { Fleet, SeededDevice, SeededOrg } from '../../support/fleets/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { addFleet, advanceAll } from './served-fleet.ts'

let clock: TestClock
let server: TestServer
let admin: TestOrg
let org: SeededOrg
let fleet: Fleet
let device: SeededDevice
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  const { db } = server.ctx
  await sql`create function wait_to_commit() returns trigger language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$`.execute(db)
  await sql`create constraint trigger wait_to_commit after update on upgrade_target deferrable initially deferred
    for each row execute function wait_to_commit()`.execute(db)
})
afterAll(() => server.close())
beforeEach(async () => {
  ;({ admin, org, fleet } = await addFleet(server, [{ devices: 1 }]))
  const [only] = org.sites[0]?.devices ?? []
  if (only === undefined) throw new Error('no device')
  device = only
  await fleet.connect([device])
})

const advance = async (): Promise<void> => {
  clock.advance(1)
  await advanceAll(server)
}
const devicePath = () => `/sites/${org.sites[0]?.id}/devices/${device.id}`
const restart = (body: unknown = {}): Promise<Answer> =>
  server.call('POST', `${devicePath()}/restart`, { body, as: admin })

async function startUpgrade(): Promise<string> {
  const { body } = await server.call('POST', `/orgs/${admin.orgId}/devices/upgrade`, {
    body: { all_sites: true },
    as: admin,
  })
  return body.id
}

async function setState(state: TargetState): Promise<void> {
  await server.ctx.db.updateTable('upgradeTarget').set({ state }).where('orgId', '=', admin.orgId).execute()
}

async function commands(): Promise<string[]> {
  const rows = await server.ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'state'])
    .where('orgId', '=', admin.orgId)
    .orderBy('id')
    .execute()
  return rows.map(({ kind, state }) => `${kind} ${state}`)
}

describe('a restart', () => {
  it.each(['dl_requested', 'downloading', 'rebooting', 'verifying'] as const)(
    'is refused while the target is %s, with the id of the upgrade',
    async (state) => {
      const upgradeId = await startUpgrade()
      await advance()
      await setState(state)
      for (const body of [{}, { member: 1 }, { node: 'node0' }]) {
        const answer = await restart(body)
        expect(answer).toMatchObject({ status: 400, body: { upgrade_id: upgradeId } })
        expect(answer.body.detail).toContain(`upgrade ${upgradeId}`)
      }
      expect(await commands()).toEqual(['upgrade queued'])
    },
  )

  it('is accepted before its device is upgraded, and after that has ended', async () => {
    await startUpgrade()
    expect((await restart()).status).toBe(200)
    expect(await fleet.answer(() => 'refuses')).toBe(1)
    await advance()
    await fleet.answer()
    expect((await restart()).status).toBe(400)
    await advance()
    expect((await restart()).status).toBe(200)
  })

  it('waits for a round of the engine that is commanding the device', async () => {
    const upgradeId = await startUpgrade()
    let round: Promise<void> = Promise.resolve()
    let answer: Promise<Answer> | undefined
    await server.ctx.db.transaction().execute(async (tx) => {
      // The round has recorded that the device is in flight, and now waits to commit.
      await sql`select pg_advisory_xact_lock(1)`.execute(tx)
      round = advance()
      await untilWaiting(server, 1)
      answer = restart()
      await untilWaiting(server, 2)
    })
    await round
    expect(await answer).toMatchObject({ status: 400, body: { upgrade_id: upgradeId } })
    expect(await commands()).toEqual(['upgrade queued'])
  })

  it('is sent first if it was queued first, otherwise after the upgrade of its device has ended', async () => {
    await startUpgrade()
    expect((await restart()).status).toBe(200)
    await advance()
    // The round has numbered its command before the restart was queued.
    await server.ctx.db
      .updateTable('deviceCommand')
      .set({ id: '00000000-0000-7000-8000-000000000000' })
      .where('orgId', '=', admin.orgId)
      .where('kind', '=', 'upgrade')
      .execute()
    await server.ctx.db
      .updateTable('upgradeTarget')
      .set({ commandId: '00000000-0000-7000-8000-000000000000' })
      .where('orgId', '=', admin.orgId)
      .execute()
    expect(await fleet.answer()).toBe(1)
    expect(await commands()).toEqual(['upgrade done', 'restart queued'])
    expect(await fleet.answer()).toBe(0)
    await advance()
    expect(await fleet.answer()).toBe(1)
    expect(await commands()).toEqual(['upgrade done', 'restart done'])
  })

  it('leaves an audit record if it could not be sent in time', async () => {
    expect((await restart()).status).toBe(200)
    clock.advance(60_000)
    await sweepCommands(server.ctx)
    await sweepCommands(server.ctx)
    expect(await commands()).toEqual(['restart expired'])
    const records = server.ctx.db
      .selectFrom('auditLog')
      .select(['message', 'siteId', 'after'])
      .where('orgId', '=', admin.orgId)
      .where('message', 'like', '%xpired%')
    expect(await records.execute()).toEqual([
      {
        message: `The restart of device ${device.mac} expired: it could not be sent within 60 s`,
        siteId: org.sites[0]?.id,
        after: { mac: device.mac },
      },
    ])
  })
})

describe('a device in recovery', () => {
  it('is not rebooted during its upgrade', async () => {
    await startUpgrade()
    await advance()
    await fleet.answer(() => 'dies')
    await fleet.connect([device])
    await setState('rebooting')
    await recordRecovery(server.ctx, device.id)
    expect(await commands()).toEqual(['upgrade done'])
    await setState('failed')
    await releaseDevices(server.ctx.db)
    await recordRecovery(server.ctx, device.id)
    expect(await commands()).toEqual(['upgrade done', 'restart queued'])
  })

  it('waits for a round of the engine without a deadlock', async () => {
    await startUpgrade()
    let round: Promise<void> = Promise.resolve()
    let recovery: Promise<void> | undefined
    await server.ctx.db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(1)`.execute(tx)
      round = advance()
      await untilWaiting(server, 1)
      recovery = recordRecovery(server.ctx, device.id)
      await untilWaiting(server, 2)
    })
    await Promise.all([round, recovery])
    expect(await commands()).toEqual(['upgrade queued'])
    const sent = await recordCommandsSent(server.ctx, '00000000-0000-4000-8000-000000000000', {
      limit: 10,
      rebooting: [],
    })
    expect(sent).toEqual([])
  })
})
