import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { lockRows } from '../../support/while-locked.ts'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { recordMxedgeNodeLost } from '../../../src/mxedges/sessions/record-disconnect.ts'
import { type EdgeWorld, connectAgent, openAgent, register, report, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const pathOf = (id: string) => `/orgs/${world.org.orgId}/mxedges/${id}`
const post = (id: string, path: string, body: object = {}) => world.call('POST', `${pathOf(id)}/${path}`, { body })
const lastCommand = async (id: string) => (await world.call('GET', `${pathOf(id)}/commands?limit=1`)).body[0]
const untilCommand = (id: string, status: string) =>
  waitUntil(`a command that is ${status}`, async () => {
    const command = await lastCommand(id)
    return command.status === status ? command : null
  })
const lastEvent = async (id: string) =>
  (await world.call('GET', `/orgs/${world.org.orgId}/mxedges/events/search?mxedge_id=${id}&limit=1`)).body.results[0]

describe('a command to a connected appliance', () => {
  const service = (name: string, action: string) => ({
    path: `services/${name}/${action}`,
    body: {},
    call: { method: 'service.control', params: { service: name, action } },
  })
  test.each<{ path: string; body: object; call: { method: string; params: object }; event: string; said?: object }>([
    { ...service('tunterm', 'restart'), event: 'ME_SERVICE_RESTARTED' },
    { ...service('mxagent', 'stop'), event: 'ME_SERVICE_STOPPED' },
    { ...service('tunterm', 'start'), event: 'ME_SERVICE_STARTED' },
    {
      path: 'services/tunterm/bounce_port',
      body: { ports: ['0', '1'], hold_time: 4000 },
      call: { method: 'port.bounce', params: { ports: ['0', '1'], hold_ms: 4000 } },
      event: 'ME_PORTS_BOUNCED',
      said: { component: 'port 0, port 1' },
    },
    {
      path: 'services/tunterm/disconnect_aps',
      body: { macs: ['5C:5B:35:0e:00:01'] },
      call: { method: 'aps.disconnect', params: { macs: ['5c5b350e0001'] } },
      event: 'ME_APS_DISCONNECTED',
    },
  ])('by $path is carried, recorded and reported', async ({ path, body, call: expected, event, said }) => {
    const { id, agent } = await connectAgent(world)
    expect(await post(id, path, body)).toMatchObject({ status: 200, body: {} })
    const call = await agent.nextCall()
    const command = await lastCommand(id)
    expect(call).toMatchObject({ ...expected, params: { ...expected.params, command_id: command.id } })
    expect(command).toMatchObject({ mxedge_id: id, status: 'sent' })
    agent.succeed(call)
    expect(await untilCommand(id, 'done')).toMatchObject({ finished_time: expect.any(Number) })
    expect(await lastEvent(id)).toMatchObject({ type: event, mxedge_id: id, ...said })
    const { body: logs } = await world.call('GET', `/orgs/${world.org.orgId}/logs?limit=1`)
    expect(logs.results[0].message).toContain('of edge appliance "Edge"')
  })

  test('that fails there has the reason in its record and its event', async () => {
    const { id, agent } = await connectAgent(world)
    await post(id, 'services/tunterm/restart')
    agent.fail(await agent.nextCall(), 2, 'unit tunterm.service failed, see https://box.example/journal?token=s3cret')
    const command = await untilCommand(id, 'rejected')
    expect(command.reason).toBe('unit tunterm.service failed, see (address)')
    expect(await lastEvent(id)).toMatchObject({ type: 'ME_SERVICE_FAILED', service: 'tunterm', text: command.reason })
  })

  test('is not ended by an answer about another command, nor by nonsense', async () => {
    const { id, agent } = await connectAgent(world)
    await post(id, 'services/tunterm/restart')
    const call = await agent.nextCall()
    agent.succeed({ ...call, params: { command_id: '0193a1c0-0000-7000-8000-000000000009' } })
    agent.socket.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: true }))
    agent.socket.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: 'x' } }))
    agent.fail(call, 2, 'really failed')
    expect(await untilCommand(id, 'rejected')).toMatchObject({ reason: 'really failed' })
  })

  test('may be answered again after its end, which is no fault of the agent', async () => {
    const { id, agent } = await connectAgent(world)
    const warned = vi.spyOn(world.ctx.log, 'warn')
    onTestFinished(() => warned.mockRestore())
    await post(id, 'services/tunterm/restart')
    const first = await agent.nextCall()
    agent.succeed(first)
    await untilCommand(id, 'done')
    agent.succeed(first)
    await post(id, 'services/tunterm/stop')
    agent.succeed(await agent.nextCall())
    await untilCommand(id, 'done')
    expect(warned.mock.calls).toEqual([])
  })

  test('is refused with the reason where the appliance has no such service or method', async () => {
    const { id, credentials } = await connectAgent(world)
    const detail = 'The edge appliance has no service mxdas; its services are: mxagent, tunterm'
    expect(await post(id, 'services/mxdas/restart')).toMatchObject({ status: 400, body: { detail } })
    const older = await openAgent(world, credentials)
    await older.hello({ methods: [] })
    expect(await post(id, 'services/tunterm/restart')).toMatchObject({
      status: 400,
      body: { detail: 'The agent of the edge appliance has no method service.control' },
    })
    expect((await post(id, 'services/tunterm/disconnect_aps', { macs: ['no'] })).body.detail).toContain(
      'Invalid field macs.0: "no" is not a MAC address',
    )
  })

  test('that was not sent is withdrawn by a restart of the registration, and none is queued after it', async () => {
    const { id, agent } = await connectAgent(world)
    await post(id, 'services/tunterm/restart')
    await agent.nextCall()
    await post(id, 'services/mxagent/restart')
    await post(id, 'restart')
    expect((await lastCommand(id)).status).toBe('cancelled')
    expect(await post(id, 'services/tunterm/restart')).toMatchObject({
      status: 400,
      body: { detail: 'The edge appliance is not connected' },
    })
  })
})

describe('the services in the reports of an appliance', () => {
  const services = (state: string, mxagent = 'running') => [
    { name: 'mxagent', version: '1.0.0', state: mxagent },
    { name: 'tunterm', version: '2.0.0', state },
  ]
  const serviceEvents = async (id: string) => {
    const { body } = await world.call(
      'GET',
      `/orgs/${world.org.orgId}/mxedges/events/search?mxedge_id=${id}&type=ME_SERVICE*`,
    )
    return body.results
      .map(({ type, severity, service, text }: AnyJson) => ({ type, severity, service, text }))
      .toReversed()
  }

  test('have events when they fail, run again or stop by themselves', async () => {
    const { id, agent, credentials } = await connectAgent(world)
    agent.notify('report', { ...report, services: services('failed') })
    agent.notify('report', { ...report, services: services('failed') })
    agent.notify('report', { ...report, services: services('running') })
    const expected = [
      {
        type: 'ME_SERVICE_FAILED',
        severity: 'critical',
        service: 'tunterm',
        text: 'Reported as failed, and as running before',
      },
      {
        type: 'ME_SERVICE_STARTED',
        severity: 'info',
        service: 'tunterm',
        text: 'Reported as running, and as failed before',
      },
    ]
    await waitUntil('both events', async () => (await serviceEvents(id)).length === 2)
    expect(await serviceEvents(id)).toEqual(expected)
    agent.socket.terminate()
    const later = await openAgent(world, credentials)
    await later.hello({ report: { ...report, services: services('running', 'stopped') } })
    const stopped = {
      type: 'ME_SERVICE_STOPPED',
      severity: 'warn',
      service: 'mxagent',
      text: 'Reported as stopped, and as running before',
    }
    expect(await serviceEvents(id)).toEqual([...expected, stopped])
  })

  test('have no second event for what a command did', async () => {
    const { id, agent } = await connectAgent(world)
    await post(id, 'services/tunterm/stop')
    const call = await agent.nextCall()
    agent.notify('report', { ...report, services: services('stopped') })
    agent.succeed(call)
    await untilCommand(id, 'done')
    await post(id, 'services/tunterm/start')
    agent.succeed(await agent.nextCall())
    await untilCommand(id, 'done')
    agent.notify('report', { ...report, uptime_s: 500, services: services('running') })
    await waitUntil('the report', async () => {
      const { body } = await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)
      return body.uptime >= 500
    })
    expect((await serviceEvents(id)).map(({ type }: AnyJson) => type)).toEqual([
      'ME_SERVICE_STOPPED',
      'ME_SERVICE_STARTED',
    ])
    // A service that fails after a command has succeeded has failed by itself.
    agent.notify('report', { ...report, services: services('failed') })
    await waitUntil('the failure', async () => (await serviceEvents(id)).at(-1).type === 'ME_SERVICE_FAILED')
  })
})

describe('statistics', () => {
  test('show the values of the machine, without additions by the agent', async () => {
    const { id, agent } = await connectAgent(world)
    const eth0 = { up: true, mac: '020000000001', ip: '192.0.2.7', netmask: '255.255.255.0', ip6: '2001:db8::7' }
    const times = { user: 30.4, system: 10.5, interrupt: 5.1, idle: 54 }
    const machine = {
      cpu: { ...times, cpus: { cpu0: times } },
      memory: { available: 7_000_000_000, swap_total: 0 },
      interfaces: { eth0: { ...eth0, rx_bytes: 5, secret: 'x' } },
      lags: { bond0: ['eth0'] },
      virtualization: 'kvm',
      own: { num_tunnels: 3, tunterm: { monitoring_failed: false }, oob_ip: { ip: '198.51.100.7', type6: 'dhcp' } },
      surplus: 'x'.repeat(1000),
    }
    agent.notify('report', { ...report, uptime_s: 6000, machine: { ...machine, virtualization: 7 } })
    agent.notify('report', { ...report, uptime_s: 7000, machine })
    const path = `/orgs/${world.org.orgId}/stats/mxedges/${id}`
    const stats = await waitUntil('the report', async () => {
      const { body } = await world.call('GET', path)
      return body.uptime >= 7000 ? body : null
    })
    expect(stats).toMatchObject({
      cpu_stat: { usage: 13, user: 30, system: 11, interrupt: 5, cpus: { cpu0: times } },
      memory_stat: { total: 8_000_000_000, available: 7_000_000_000, swap_total: 0 },
      lag_stat: { bond0: { active_ports: ['eth0'] } },
      virtualization_type: 'kvm',
      num_tunnels: 3,
      tunterm_stat: { monitoring_failed: false },
    })
    expect(stats.ip_stat).toEqual({
      ...{ ip: '192.0.2.7', netmask: '255.255.255.0', ip6: '2001:db8::7' },
      ...{ ips: { eth0: '192.0.2.7' }, macs: { eth0: '020000000001' } },
    })
    expect(stats.port_stat).toEqual({ eth0: { up: true, mac: '020000000001', rx_bytes: 5 } })
    expect(stats.oob_ip_stat).toEqual({ ip: '198.51.100.7', type8: 'dhcp' })
    const stored = world.ctx.db.selectFrom('mxedgeSession').select('report').where('mxedgeId', '=', id)
    expect(JSON.stringify(await stored.execute())).not.toContain('surplus')
  })

  test('show what the agent has reported, and when it was seen last', async () => {
    const { id, agent } = await connectAgent(world)
    const record = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}`)
    expect(record.body).toMatchObject({
      mxagent_registered: true,
      tunterm_registered: true,
      versions: { mxagent: '1.0.0', tunterm: '2.0.0' },
    })
    const stats = async () => (await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)).body
    expect(await stats()).toMatchObject({
      status: 'connected',
      uptime: 100,
      last_seen: expect.any(Number),
      serial: 'S1',
      mxagent_registered: true,
      tunterm_registered: true,
      cpu_stat: { usage: 13, idle: 87 },
      memory_stat: { total: 8_000_000_000, free: 6_000_000_000, usage: 25 },
      ip_stat: { ip: '192.0.2.7' },
      service_stat: { tunterm: { package_version: '2.0.0', package_state: 'installed', running_state: 'running' } },
    })
    agent.notify('report', {
      ...report,
      uptime_s: 5000,
      services: [{ name: 'tunterm', version: '3', state: 'failed' }],
    })
    const changed = await waitUntil('the report', async () => {
      const current = await stats()
      return current.uptime >= 5000 ? current : null
    })
    expect(changed.service_stat.tunterm).toMatchObject({ package_version: '3', running_state: 'failed' })
    agent.socket.close()
    const away = await waitUntil('disconnected', async () => {
      const current = await stats()
      return current.status === 'disconnected' ? current : null
    })
    expect(away).not.toHaveProperty('uptime')
    expect(away.service_stat.tunterm.package_version).toBe('3')
  })

  test('are found and counted by distribution and by version', async () => {
    const { id } = await connectAgent(world, { name: 'Findable', model: 'ME-X10' })
    await addMxedge(world, { model: 'ME-X10' })
    const find = async (query: string) => {
      const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/search?model=ME-X10&${query}`)
      return body.results.map((mxedge: { id: string }) => mxedge.id)
    }
    expect(await find('distro=bookworm&tunterm_version=2.0.0')).toEqual([id])
    expect(await find('distro=bullseye')).toEqual([])
    const { body } = await world.call(
      'GET',
      `/orgs/${world.org.orgId}/mxedges/count?model=ME-X10&distinct=tunterm_version`,
    )
    expect(body.results).toEqual([{ tunterm_version: '2.0.0', count: 1 }, { count: 1 }])
  })
})

describe('a command whose connection a killed server lost', () => {
  /** The commands that wait behind it. */
  const LATER = 20

  /** The agent gets the call, which stands for one that never left the server. @returns How to connect again, with the commands that the agent knows. */
  async function loseCommand() {
    const { id, credentials, agent } = await connectAgent(world)
    await post(id, 'services/tunterm/stop')
    const { params } = await agent.nextCall()
    for (let later = 0; later < LATER; later += 1) await post(id, 'services/tunterm/start')
    const { nodeId } = await world.ctx.db
      .selectFrom('mxedgeSession')
      .select('nodeId')
      .where('mxedgeId', '=', id)
      .executeTakeFirstOrThrow()
    await recordMxedgeNodeLost(world.ctx, nodeId)
    return {
      id,
      commandId: params.command_id as string,
      reconnect: async (commands: readonly string[]) => {
        const later = await openAgent(world, credentials)
        await later.hello({ commands })
        return later
      },
    }
  }
  const stateOf = async (id: string) =>
    (await world.ctx.db.selectFrom('mxedgeCommand').select('state').where('id', '=', id).executeTakeFirstOrThrow())
      .state

  test('is sent again, before later ones, if the agent does not know it', async () => {
    const { id, commandId, reconnect } = await loseCommand()
    // Earlier commands whose calls had the highest ids, before these began again.
    await sql`
      insert into mxedge_command (org_id, id, mxedge_id, kind, params, state, created_at, expires_at, call_id, sent_at, finished_at)
      select org_id, ('00000000-0000-7000-8000-' || lpad(number::text, 12, '0'))::uuid,
        mxedge_id, kind, params, 'done', created_at, created_at, 2147483600 + number, created_at, created_at
      from mxedge_command, generate_series(1, 16) number where mxedge_id = ${id} and id = ${commandId}
    `.execute(world.ctx.db)
    expect(await stateOf(commandId)).toBe('unknown')
    const agent = await reconnect([])
    for (const action of ['stop', 'start']) {
      const call = await agent.nextCall()
      expect(call.params).toMatchObject({ action, ...(action === 'stop' && { command_id: commandId }) })
      agent.succeed(call)
    }
    await waitUntil('the command is done', async () => (await stateOf(commandId)) === 'done')
  })

  test.each([
    ['knows it, and will answer', true, 0],
    ['does not know it, but is back too late for the person who requested it', false, 61_000],
  ])('is not sent again if the agent %s', async (_, isKnown, awayMs) => {
    const { commandId, reconnect } = await loseCommand()
    world.shift(awayMs)
    const agent = await reconnect(isKnown ? [commandId] : [])
    if (isKnown) expect((await agent.nextCall()).params).toMatchObject({ action: 'start' })
    else await agent.nextConfiguration()
    expect(await stateOf(commandId)).toBe('unknown')
    world.shift(-awayMs)
  })

  test('is locked after the ones before it, as by every other statement', async () => {
    const { commandId, reconnect } = await loseCommand()
    const laterId = uuidv7()
    const changes = sql`jsonb_build_object('id', ${laterId}::uuid, 'call_id', call_id + 1)`
    await sql`
      insert into mxedge_command
      select (jsonb_populate_record(command, ${changes})).* from mxedge_command command where id = ${commandId}
    `.execute(world.ctx.db)
    const row = { table: 'mxedge_command', column: 'id', value: commandId }
    const other = await openTx(world.ctx, (tx) => lockRows(tx, row))
    const connecting = reconnect([])
    await untilWaiting(world, 1)
    const free = sql`select from mxedge_command where id = ${laterId} and state = 'unknown' for update skip locked`
    expect((await free.execute(world.ctx.db)).rows).toHaveLength(1)
    await other.commit()
    const agent = await connecting
    expect((await agent.nextCall()).params).toMatchObject({ command_id: commandId })
    expect(await stateOf(laterId)).toBe('queued')
  })

  test('is not sent to the appliance that replaces the one for which it was', async () => {
    const { id, commandId } = await loseCommand()
    world.shift(1)
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/${id}/restart`)
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}`)
    const successor = await openAgent(world, await register(world, body.magic))
    await successor.hello({ commands: [] })
    await successor.nextConfiguration()
    expect(await stateOf(commandId)).toBe('unknown')
    world.shift(-1)
  })
})
