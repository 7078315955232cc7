import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const OTHER_ORG = '00000000-0000-0000-0000-000000000002'
const idOf = (place: number) => `00000000-0000-7000-8000-00000000000${place}`

/** The organization, the address, the hour in which it was sent last, its hours, and whether it remains. */
const invitations = [
  // It was made first, and sent again by a change after the others.
  [ORG, 'ada@example.test', 9, 1, true],
  [ORG, 'ada@example.test', 7, 168, false],
  [ORG, 'ada@example.test', 8, 24, false],
  // The later one of two that were sent at the same moment.
  [ORG, 'eve@example.test', 7, 24, false],
  [ORG, 'eve@example.test', 7, 24, true],
  [OTHER_ORG, 'ada@example.test', 5, 24, true],
  [ORG, 'bob@example.test', 5, 24, true],
] as const

test('of several invitations of one address, the one that was sent last remains', async () => {
  const { client, connection } = await openFormerDatabase('0360', ORG)
  await client.query(
    `insert into org (id, name, doc, created_at, modified_at) values ($1, 'Other', '{}', now(), now())`,
    [OTHER_ORG],
  )
  for (const [place, [orgId, email, sentAt, hours]] of invitations.entries())
    await client.query(
      `insert into invite (org_id, id, email, token_hash, doc, created_at, expires_at)
       values ($1, $2, $3, $4, jsonb_build_object('hours', $5::integer, 'privileges', '[]'::jsonb), '2026-01-02',
         '2026-01-02'::timestamptz + ($5::integer + $6::integer) * interval '1 hour')`,
      [orgId, idOf(place), email, Buffer.from([place]), hours, sentAt],
    )
  await migrate(connection)
  const { rows } = await client.query<{ id: string }>('select id from invite order by id')
  const remaining = invitations.flatMap(([, , , , remains], place) => (remains ? [idOf(place)] : []))
  expect(rows.map(({ id }) => id)).toEqual(remaining)
})
