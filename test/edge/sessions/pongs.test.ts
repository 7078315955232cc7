import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { type EdgeWorld, connectAgent, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld({ deadMs: 1e9 })
})
afterAll(() => world.close())

/** More messages than an agent may send in one burst, and fewer than it may in two seconds more. */
const TOO_MANY = 1100

test.each([
  ['that waits behind them', '1'],
  ['that arrives later', '2'],
])('an agent that has sent too many messages gets the pong to the ping %s once they are handled', async (_, last) => {
  const { id, agent } = await connectAgent(world)
  const pongs: string[] = []
  agent.socket.on('pong', (data) => pongs.push(data.toString()))
  const path = `/orgs/${world.org.orgId}/mxedges/${id}/services/tunterm/restart`
  expect(await world.call('POST', path, { body: {} })).toMatchObject({ status: 200 })
  const call = await agent.nextCall()
  const handledBefore = world.gateway.counters.read()['unknown_method'] ?? 0
  const countHandled = () => (world.gateway.counters.read()['unknown_method'] ?? 0) - handledBefore
  for (let sent = 0; sent < TOO_MANY; sent += 1) agent.notify('unknown', {})
  agent.succeed(call)
  agent.socket.ping('1')
  if (last === '2') agent.socket.ping('2')
  await waitUntil('most are handled', () => countHandled() > 900)
  expect(countHandled()).toBeLessThan(TOO_MANY)
  expect(pongs).toEqual([])
  world.advance(2500)
  await waitUntil('the pong', () => pongs.includes(last))
  expect(countHandled()).toBe(TOO_MANY)
  expect(pongs).toEqual([last])
  const { state } = await world.ctx.db
    .selectFrom('mxedgeCommand')
    .select('state')
    .where('id', '=', call.params.command_id)
    .executeTakeFirstOrThrow()
  expect(state).toBe('done')
})
