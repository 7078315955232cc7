import type pg from 'pg'
import { expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const NODE = '00000000-0000-0000-0000-000000000002'

interface FormerDevice {
  readonly mac: string
  readonly type: string
  readonly capabilities: unknown
}

async function insertFormerDevice(client: pg.Client, { mac, type, capabilities }: FormerDevice): Promise<void> {
  const id = deviceIdOf(mac)
  const hardware = [id, mac, type, mac, ORG]
  await client.query(
    `insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at)
     values ($1, $2, 's', 'm', $3, $4, $5, now())`,
    hardware,
  )
  await client.query(
    `insert into device (org_id, id, mac, serial, model, type, claim_code, created_at, modified_at)
     values ($5, $1, $2, 's', 'm', $3, $4, now(), now())`,
    hardware,
  )
  await client.query('insert into device_status (org_id, device_id, capabilities) values ($1, $2, $3)', [
    ORG,
    id,
    JSON.stringify(capabilities),
  ])
  await client.query(
    `insert into device_session (device_id, node_id, epoch, connected, connected_at, facts)
     values ($1, $2, 1, true, now(), $3)`,
    [id, NODE, JSON.stringify({ firmware: '1', model: 'm', type, capabilities, members: null, reason: 'socket' })],
  )
}

test('devices of the previous release keep their capabilities, and their sessions use uCentral', async () => {
  const { client, connection } = await openFormerDatabase('0030', ORG)
  const offers = (methods: string[], members?: unknown[]) => ({
    compatible: 'm',
    'x-signalbox': { protocol: 1, methods, ...(members && { members }) },
  })
  const nothing = { commands: ['restart', 'upgrade'], restart_members: [], restart_nodes: [] }
  const nodes = ['node0', 'node1']
  const cases = [
    { type: 'ap', said: { compatible: 'm' }, commands: ['restart', 'upgrade', 'locate', 'unlocate'] },
    { type: 'switch', said: { compatible: 'm', platform: 'switch' } },
    { type: 'switch', said: offers(['reboot']), restart_members: 'any', restart_nodes: nodes },
    {
      type: 'switch',
      said: offers(['reboot'], [{ member: 0 }, { member: 3 }]),
      restart_members: [0, 3],
      restart_nodes: nodes,
    },
    { type: 'gateway', said: offers(['stage'], [{ member: 0 }]) },
  ].map(({ type, said, ...able }, index) => ({ mac: `02000000000${index}`, type, said, able: { ...nothing, ...able } }))
  for (const { mac, type, said } of cases) await insertFormerDevice(client, { mac, type, capabilities: said })
  const never = { mac: '0200000000ff', type: 'ap', capabilities: {} }
  await insertFormerDevice(client, never)
  await client.query('delete from device_session where device_id = $1', [deviceIdOf(never.mac)])

  await migrate(connection)
  const { rows } = await client.query(
    `select device.mac, status.capabilities, session.facts -> 'capabilities' as said, session.family,
       session.facts -> 'reason' as reason
     from device join device_status status on status.device_id = device.id
       left join device_session session on session.device_id = device.id order by device.mac`,
  )
  expect(rows).toEqual([
    ...cases.map(({ mac, able }) => ({ mac, capabilities: able, said: able, family: 'ucentral', reason: null })),
    { mac: never.mac, capabilities: { ...nothing, commands: [] }, said: null, family: null, reason: null },
  ])
})
