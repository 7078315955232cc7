import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, SITE, DELETED_SITE, DEVICE, NO_ORG] = [id(1), id(2), id(3), id(4), id(5)]
const at = new Date('2026-01-02T03:04:05.678Z')

test('device events of the previous releases keep what their columns and documents have', async () => {
  const { client, connection } = await openFormerDatabase('0330', ORG)
  await client.query(
    `insert into site (org_id, id, name, timezone, doc, created_at, modified_at) values ($1, $2, 'Office', 'UTC', '{}', now(), now())`,
    [ORG, SITE],
  )
  const common = { org_id: ORG, device_id: DEVICE, created_at: at }
  const written = { device_name: 'Hall', site_name: 'Office', warns: true }
  const inDocument = {
    device_name: 'Hall',
    site_name: 'Office',
    ev_type: 'notice',
    ap_name: 'Hall',
    mac: '000000000004',
  }
  const rows = [
    {
      ...common,
      id: id(6),
      site_id: SITE,
      device_type: 'ap',
      type: 'AP_DISCONNECTED',
      ...written,
      event: { apfw: '1.0', text: 'why' },
    },
    {
      ...common,
      id: id(7),
      site_id: DELETED_SITE,
      device_type: 'ap',
      type: 'AP_CONNECTED',
      event: { ...inDocument, count: 2 },
    },
    { ...common, id: id(8), site_id: null, device_type: 'switch', type: 'SW_FORMER', warns: false, event: {} },
    { ...common, id: id(9), site_id: null, device_type: null, type: 'FORMER', event: {} },
    { ...common, org_id: NO_ORG, id: id(9), site_id: null, device_type: 'ap', type: 'AP_CONNECTED', event: {} },
  ]
  for (const row of rows)
    await client.query(
      `insert into device_event (${Object.keys(row).join(', ')}) values (${Object.keys(row)
        .map((_, index) => `$${index + 1}`)
        .join(', ')})`,
      Object.values(row),
    )
  await migrate(connection)
  const { rows: found } = await client.query<Record<string, unknown>>('select * from device_event order by id')
  const none = { device_name: '000000000004', site_name: null, warns: null, apfw: null, event: {} }
  expect(found).toEqual([
    {
      ...common,
      id: id(6),
      site_id: SITE,
      device_type: 'ap',
      type: 'AP_DISCONNECTED',
      ...written,
      apfw: '1.0',
      event: { text: 'why' },
    },
    {
      ...{ ...common, id: id(7), site_id: DELETED_SITE, device_type: 'ap', type: 'AP_CONNECTED', warns: false },
      ...{ device_name: 'Hall', site_name: 'Office', apfw: null, event: { count: 2 } },
    },
    { ...common, id: id(8), site_id: null, device_type: 'switch', type: 'SW_FORMER', ...none, warns: false },
    { ...common, id: id(9), site_id: null, device_type: null, type: 'FORMER', ...none },
  ])
  // Places of later sites have codes of their own.
  await client.query(
    `insert into site (org_id, id, name, timezone, doc, created_at, modified_at) values ($1, $2, 'Later', 'UTC', '{}', now(), now())`,
    [ORG, DEVICE],
  )
  const places = await client.query<{ site_id: string | null; code: number; org: number }>(
    'select site_id, code, org from event_place order by site_id nulls first',
  )
  const [org] = places.rows
  expect(places.rows.map(({ site_id }) => site_id)).toEqual([null, SITE, DELETED_SITE, DEVICE])
  expect(new Set(places.rows.map(({ code }) => code)).size).toBe(4)
  expect(places.rows.map((place) => place.org)).toEqual(Array.from({ length: 4 }, () => org?.code))
})
