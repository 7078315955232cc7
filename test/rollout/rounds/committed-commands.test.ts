import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { queueCommands } from '../../../src/devices/commands/queue-commands.ts'
import {
  recordCommandsSent,
  sweepCommands,
  sweepUpgradeCommands,
} from '../../../src/devices/commands/record-commands.ts'
import { finishCommands } from '../../../src/devices/commands/store-ended.ts'
import { inTx, inTxByKeys } from '../../../src/platform/database/db.ts'
import { useNewDatabases } from '../../support/database/lent-databases.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countOf, statusOf, useRollout } from '../harness.ts'

useNewDatabases()

const rollout = useRollout({ carries: true })
const { advance, create, read, seed, play } = rollout

/** The states of the commands of upgrades, by device. */
async function statesOf(): Promise<string[]> {
  const rows = await rollout.ctx.db
    .selectFrom('deviceCommand')
    .select(['state', 'epoch', 'callId', 'sentAt', 'sentMs'])
    .where('siteUpgradeId', 'is not', null)
    .orderBy('deviceId')
    .orderBy('attempt')
    .execute()
  for (const { state, epoch, callId, sentAt, sentMs } of rows)
    for (const value of [epoch, callId, sentAt, sentMs]) expect(value === null).toBe(state === 'queued')
  return rows.map(({ state }) => state)
}

it('is committed as sent where the gateway of the process has the connection, and sent once', async () => {
  const devices = await seed([4])
  const { id } = await create({ strategy: 'big_bang' })
  await rollout.fleet.disconnect(devices.slice(3))
  await advance()
  expect(await statesOf()).toEqual(['sent', 'sent', 'sent'])
  expect(countOf(await read(id))).toMatchObject({ dl_requested: 3 })
  await rollout.fleet.connect(devices.slice(3), undefined, 'socket')
  await play()
  expect(await statesOf()).toEqual(['done', 'done', 'done', 'done'])
  expect(statusOf(await read(id))).toEqual(['completed'])
  expect([...rollout.fleet.attempts.values()]).toEqual([1, 1, 1, 1])
  expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1])
  await expectConsistent(rollout.ctx)
})

it('has an outcome that writes no index', async () => {
  await seed([20])
  await create({ strategy: 'big_bang' })
  await advance()
  const sent = await rollout.ctx.db.selectFrom('deviceCommand').select(['orgId', 'id', 'callId']).execute()
  const outcome = { kind: 'done', text: null } as const
  const finished = sent.map(({ orgId, id, callId }) => ({ orgId, id, callId: callId ?? 0, outcome }))
  const written = await inTxByKeys(rollout.ctx, async (tx) => {
    expect(await finishCommands(tx, finished, rollout.clock.now())).toHaveLength(20)
    const { rows } = await sql`
      select n_tup_upd::integer as updated, n_tup_hot_upd::integer as in_place from pg_stat_xact_user_tables
      where relname = 'device_command'`.execute(tx)
    return rows
  })
  expect(written).toEqual([{ updated: 20, inPlace: 20 }])
  expect(await statesOf()).toEqual(sent.map(() => 'done'))
})

it('has an unknown outcome if the process forgets it, so that the device gets others', async () => {
  const [device] = await seed([1])
  await create({ strategy: 'big_bang' })
  await advance()
  rollout.clock.advance(3_600_000)
  await sweepUpgradeCommands(rollout.ctx)
  expect(await statesOf()).toEqual(['sent'])
  rollout.clock.advance(200_000)
  await sweepCommands(rollout.ctx)
  expect(await statesOf()).toEqual(['sent'])
  await sweepUpgradeCommands(rollout.ctx)
  expect(await statesOf()).toEqual(['unknown'])
  const { outcome } = await rollout.ctx.db.selectFrom('deviceCommand').select('outcome').executeTakeFirstOrThrow()
  expect(outcome).toEqual({ why: 'timeout' })
  await inTx(rollout.ctx, (tx) =>
    queueCommands(tx, rollout.org.scope, {
      devices: [{ id: device?.id ?? '', siteId: null }],
      order: { kind: 'locate', params: {} },
      at: rollout.clock.now(),
    }),
  )
  const claim = { limit: 10, rebooting: [] }
  const claimed = await recordCommandsSent(rollout.ctx, rollout.fleet.nodeId, claim)
  expect(claimed.map(({ kind }) => kind)).toEqual(['locate'])
})

it('is queued behind the open command of a person, and at the gateway of another process', async () => {
  const devices = await seed([3])
  const [first, second] = devices
  const at = rollout.clock.now()
  const scope = rollout.org.scope
  await inTx(rollout.ctx, (tx) =>
    queueCommands(tx, scope, {
      devices: devices.slice(0, 1).map((device) => ({ id: device.id, siteId: null })),
      order: { kind: 'locate', params: {} },
      at,
    }),
  )
  await rollout.ctx.db
    .updateTable('deviceSession')
    .set({ nodeId: '00000000-0000-4000-8000-000000000001' })
    .where('deviceId', '=', second?.id ?? '')
    .execute()
  await create({ strategy: 'big_bang' })
  await advance()
  expect(await statesOf()).toEqual(['queued', 'queued', 'sent'])
  // The first call sends the command of the person, and the second one that of the upgrade.
  await rollout.fleet.answer(() => 'does')
  await rollout.fleet.answer()
  expect(rollout.fleet.flashes.get(first?.id ?? '')).toBe(1)
})

it('is sent again if the process dies between the commit and the sending, and costs no attempt', async () => {
  const devices = await seed([2])
  const { id } = await create({ strategy: 'big_bang' })
  await advance()
  expect(await statesOf()).toEqual(['sent', 'sent'])
  await rollout.fleet.crash(devices)
  expect(await statesOf()).toEqual(['unknown', 'unknown'])
  await play()
  expect(statusOf(await read(id))).toEqual(['completed'])
  expect([...rollout.fleet.flashes.values()]).toEqual([1, 1])
  const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select(['failedAttempts', 'lostAttempts']).execute()
  expect(targets.map(({ failedAttempts }) => failedAttempts)).toEqual([0, 0])
  await expectConsistent(rollout.ctx)
})

it('is sent later than every connection that the engine has seen, however long its round has waited', async () => {
  const devices = await seed([1])
  const { id } = await create({ strategy: 'big_bang' })
  const { db } = rollout.ctx
  let round = Promise.resolve()
  await db.transaction().execute(async (tx) => {
    await tx.selectFrom('orgUpgrade').select('id').where('id', '=', id).forUpdate().execute()
    round = advance()
    await untilWaiting(rollout, 1)
    rollout.clock.advance(5000)
    await rollout.fleet.connect(devices, undefined, 'socket')
  })
  await round
  expect(await statesOf()).toEqual(['sent'])
  const { sentAt, connectedAt } = await db
    .selectFrom('deviceCommand as command')
    .innerJoin('deviceSession as session', 'session.deviceId', 'command.deviceId')
    .select(['command.sentAt', 'session.connectedAt'])
    .executeTakeFirstOrThrow()
  expect(sentAt).toEqual(connectedAt)
})
