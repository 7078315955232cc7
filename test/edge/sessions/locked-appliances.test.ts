import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MxedgeReport } from '../../../src/mxedges/sessions/facts.ts'
import { recordMxedgeNodeLost } from '../../../src/mxedges/sessions/record-disconnect.ts'
import { recordMxedgeReport } from '../../../src/mxedges/sessions/record-report.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { lockRows, whileRowsAreLocked } from '../../support/while-locked.ts'
import { type EdgeWorld, connectAgent, openAgent, report, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

type Table = 'mxedge' | 'mxedge_session' | 'mxedge_command'

/** Does the work while another transaction has locked rows of the appliance, as a change of its organization does. */
function whileLocked(id: string, table: Table, work: () => Promise<void>): Promise<void> {
  return whileRowsAreLocked(world.ctx, { table, column: table === 'mxedge' ? 'id' : 'mxedge_id', value: id }, work)
}

async function isConnected(id: string): Promise<boolean> {
  const session = await world.ctx.db
    .selectFrom('mxedgeSession')
    .select('connected')
    .where('mxedgeId', '=', id)
    .executeTakeFirstOrThrow()
  return session.connected
}

const untilConnected = (id: string, connected: boolean) =>
  waitUntil(connected ? 'connected' : 'disconnected', async () => (await isConnected(id)) === connected)

async function restart(id: string): Promise<void> {
  const path = `/orgs/${world.org.orgId}/mxedges/${id}/services/tunterm/restart`
  expect(await world.call('POST', path, { body: {} })).toMatchObject({ status: 200 })
}

async function stateOfCommand(id: string): Promise<string> {
  const command = await world.ctx.db
    .selectFrom('mxedgeCommand')
    .select('state')
    .where('mxedgeId', '=', id)
    .where('kind', '=', 'service')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return command.state
}

const untilCommand = (id: string, state: string) =>
  waitUntil(`a command that is ${state}`, async () => (await stateOfCommand(id)) === state)

/** Two appliances whose agents have replied to everything. */
async function connectedPair() {
  const pair = [await connectAgent(world), await connectAgent(world)] as const
  for (const { id } of pair)
    await waitUntil('configured', async () => {
      const open = await world.ctx.db
        .selectFrom('mxedgeCommand')
        .select('id')
        .where('mxedgeId', '=', id)
        .where('state', 'in', ['queued', 'sent'])
        .execute()
      return open.length === 0
    })
  return pair
}

test('the pong that confirms an answer waits until the answer is written', async () => {
  const [{ id, agent }] = await connectedPair()
  const pongs: string[] = []
  agent.socket.on('pong', (data) => pongs.push(data.toString()))
  await restart(id)
  const call = await agent.nextCall()
  await whileLocked(id, 'mxedge_command', async () => {
    agent.succeed(call)
    agent.socket.ping('1')
    agent.call(9, 'unknown', {})
    await waitUntil('the gateway has handled what follows', () => agent.answers.some((answer) => answer.id === 9))
    expect(pongs).toEqual([])
  })
  await waitUntil('the pong', () => pongs.length > 0)
  expect(pongs).toEqual(['1'])
  expect(await stateOfCommand(id)).toBe('done')
})

test('the command of an appliance ends while another organization changes one whose command ends as well', async () => {
  const [locked, other] = await connectedPair()
  for (const { id } of [locked, other]) await restart(id)
  const calls = [await locked.agent.nextCall(), await other.agent.nextCall()] as const
  await whileLocked(locked.id, 'mxedge_command', async () => {
    locked.agent.succeed(calls[0])
    other.agent.succeed(calls[1])
    await untilCommand(other.id, 'done')
    await restart(other.id)
    other.agent.succeed(await other.agent.nextCall())
    await untilCommand(other.id, 'done')
    expect(await stateOfCommand(locked.id)).toBe('sent')
  })
  await untilCommand(locked.id, 'done')
})

test.each<Table>(['mxedge', 'mxedge_session'])(
  'an appliance connects and disconnects while another organization changes one that does, too: %s',
  async (table) => {
    const [locked, other] = await connectedPair()
    for (const { id, agent } of [locked, other]) {
      agent.socket.close()
      await untilConnected(id, false)
    }
    const again = [await openAgent(world, locked.credentials), await openAgent(world, other.credentials)] as const
    let late: Promise<unknown> | undefined
    await whileLocked(locked.id, table, async () => {
      late = again[0].hello()
      await again[1].hello()
      again[1].socket.close()
      await untilConnected(other.id, false)
      expect(await isConnected(locked.id)).toBe(false)
    })
    await late
    await untilConnected(locked.id, true)
  },
)

test('the end of a session waits for the change of its appliance, and delays no other end', async () => {
  const [locked, other] = await connectedPair()
  await whileLocked(locked.id, 'mxedge_session', async () => {
    for (const { agent } of [locked, other]) {
      agent.socket.close()
      await agent.closed
    }
    await untilConnected(other.id, false)
    const again = await openAgent(world, other.credentials)
    await again.hello()
    again.socket.close()
    await untilConnected(other.id, false)
    expect(await isConnected(locked.id)).toBe(true)
  })
  await untilConnected(locked.id, false)
})

test('a report is recorded after the change of its appliance, and occupies no connection until then', async () => {
  const [{ id, agent }] = await connectedPair()
  const session = () =>
    world.ctx.db.selectFrom('mxedgeSession').selectAll().where('mxedgeId', '=', id).executeTakeFirstOrThrow()
  const { epoch } = await session()
  await whileLocked(id, 'mxedge_session', async () => {
    const reported = { report: { ...report, uptime_s: 777 } as MxedgeReport, isRepeated: false }
    expect(await recordMxedgeReport(world.ctx, { mxedgeId: id, epoch }, reported)).toBe(false)
    agent.notify('report', { ...report, uptime_s: 888 })
  })
  await waitUntil('the report', async () => (await session()).report?.uptime_s === 888)
})

test.each([
  ['for too long', 121_000],
  ['although the clock was set back behind their loss', -3_600_000],
])('appliances that stay away %s count as down while another organization changes one of them', async (_, ms) => {
  const [locked, other] = await connectedPair()
  const ids = [locked.id, other.id]
  await world.ctx.db
    .updateTable('mxedgeSession')
    .set({ lostAt: world.ctx.clock.now() })
    .where('mxedgeId', 'in', ids)
    .execute()
  await whileLocked(locked.id, 'mxedge_session', async () => {
    world.shift(ms)
    await untilConnected(other.id, false)
    expect(await isConnected(locked.id)).toBe(true)
  })
  await untilConnected(locked.id, false)
  expect(other.agent.socket.readyState).toBe(other.agent.socket.OPEN)
})

test('commands expire while another organization changes the appliance of one of them', async () => {
  const [locked, other] = await connectedPair()
  for (const { id, agent } of [locked, other]) {
    await restart(id)
    agent.socket.close()
    await untilConnected(id, false)
  }
  const expiresAt = addMs(world.ctx.clock.now(), 30_000)
  await world.ctx.db
    .updateTable('mxedgeCommand')
    .set({ state: 'queued', epoch: null, callId: null, sentAt: null, finishedAt: null, expiresAt })
    .where('mxedgeId', 'in', [locked.id, other.id])
    .where('kind', '=', 'service')
    .execute()
  await whileLocked(locked.id, 'mxedge_command', async () => {
    world.advance(31_000)
    await untilCommand(other.id, 'expired')
    expect(await stateOfCommand(locked.id)).toBe('queued')
  })
  await untilCommand(locked.id, 'expired')
})

test('commands in flight are locked in the order of their ids when their connections are lost', async () => {
  const [first, second] = await connectedPair()
  // The appliance that was added later has the earlier command.
  for (const { id } of [second, first]) {
    await restart(id)
    await untilCommand(id, 'sent')
  }
  const { ctx } = world
  const { nodeId } = await ctx.db
    .selectFrom('mxedgeSession')
    .select('nodeId')
    .where('mxedgeId', '=', first.id)
    .executeTakeFirstOrThrow()
  const other = await openTx(ctx, (tx) =>
    lockRows(tx, { table: 'mxedge_command', column: 'mxedge_id', value: second.id }),
  )
  const losing = recordMxedgeNodeLost(ctx, nodeId)
  await untilWaiting(world, 1)
  const free = sql`select from mxedge_command where mxedge_id = ${first.id} and state = 'sent' for update skip locked`
  expect((await free.execute(ctx.db)).rows).toHaveLength(1)
  await other.commit()
  await losing
  expect([await stateOfCommand(first.id), await stateOfCommand(second.id)]).toEqual(['unknown', 'unknown'])
})
