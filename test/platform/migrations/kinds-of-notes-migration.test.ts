import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, UPGRADE] = [id(1), id(2)]

test('notes of the previous release about devices and appliances of other upgrades get their kind', async () => {
  const { client, connection } = await openFormerDatabase('0527', ORG)
  const notes = [
    { reason: 'in another upgrade, says somebody' },
    { mac: '000000000001', reason: 'offline since in another upgrade' },
    { mac: '000000000002', reason: 'in another upgrade' },
    { mac: '000000000003', reason: 'in another upgrade, which has begun with it' },
  ]
  await client.query(
    `insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, planned, notes, pending_by_phase, created_at)
     values ($1, $2, '{}', 'big_bang', '2', false, false, 0, '[]', '{}', now())`,
    [ORG, UPGRADE],
  )
  await client.query(
    `insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, notes, created_at)
     values ($1, $2, $2, $2, 'completed', now(), now(), '{}', '{}', 0, $3, now())`,
    [ORG, UPGRADE, JSON.stringify(notes)],
  )
  const edgeNotes = [
    { mxedge_id: id(3), reason: `skipped: it is in upgrade ${id(4)}` },
    { mxedge_id: id(5), reason: 'why' },
  ]
  await client.query(
    `insert into mxedge_upgrade (org_id, id, request, plan, status, counts, notes, start_at, created_at, include_due_ms)
     values ($1, $2, '{}', '{}', 'upgrading', '{}', $3, now(), now(), 1)`,
    [ORG, UPGRADE, JSON.stringify(edgeNotes)],
  )
  await migrate(connection)
  const { rows } = await client.query('select notes from site_upgrade')
  const ofOthers = notes.slice(2).map(({ mac, reason }) => ({ mac, kind: 'in_another_upgrade', reason }))
  expect(rows).toEqual([{ notes: [...notes.slice(0, 2), ...ofOthers] }])
  const { rows: edges } = await client.query('select notes, include_due_ms from mxedge_upgrade')
  expect(edges).toEqual([
    { notes: [Object.assign({ kind: 'in_another_upgrade' }, edgeNotes[0]), edgeNotes[1]], include_due_ms: 1 },
  ])
})

test('upgrades of edge appliances of the previous release search on only while they run', async () => {
  const { client, connection } = await openFormerDatabase('0528', ORG)
  const upgrades = [
    [id(3), 'upgrading', null, null],
    [id(4), 'completed', null, new Date(0)],
    [id(5), 'upgrading', 'cancelled', null],
  ]
  for (const upgrade of upgrades)
    await client.query(
      `insert into mxedge_upgrade (org_id, request, plan, counts, notes, start_at, created_at, joining, include_due_ms, include_after,
         id, status, stopping, finished_at)
       values ($1, '{}', '{}', '{}', '[]', now(), now(), '{}', 1, $1, $2, $3, $4, $5)`,
      [ORG, ...upgrade],
    )
  await migrate(connection)
  const { rows } = await client.query(
    'select id, joining, include_due_ms, include_after from mxedge_upgrade order by id',
  )
  // A retry lets the one that has ended search again, but not one that was cancelled.
  expect(rows).toEqual([
    { id: id(3), joining: {}, include_due_ms: 1, include_after: ORG },
    { id: id(4), joining: {}, include_due_ms: null, include_after: null },
    { id: id(5), joining: null, include_due_ms: null, include_after: null },
  ])
})
