import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const SITE = '00000000-0000-0000-0000-000000000002'
const PATH = '5b8d4f51-6f4c-4d55-8f3c-2c53ad3d3b2f'

test('survey paths of the previous release get ids, and keep their order, content and own ids', async () => {
  const { client, connection } = await openFormerDatabase('0078', ORG)
  await client.query(
    `insert into site (org_id, id, name, timezone, created_at, modified_at) values ($1, $2, 's', 'UTC', now(), now())`,
    [ORG, SITE],
  )
  const surveyed = { name: 'x', sitesurvey_path: [{ name: 'A' }, { name: 'B', id: PATH }, { name: 'C', id: 7 }] }
  const docs = [surveyed, { name: 'y' }, { sitesurvey_path: [] }]
  for (const [index, doc] of docs.entries())
    await client.query(
      `insert into site_map (org_id, site_id, id, doc, created_at, modified_at)
       values ($1, $2, $3, $4, now(), now())`,
      [ORG, SITE, `00000000-0000-0000-0000-00000000001${index}`, JSON.stringify(doc)],
    )

  await migrate(connection)
  const { rows } = await client.query('select doc from site_map order by id')
  const some = expect.stringMatching(/^[0-9a-f-]{36}$/)
  const paths = [
    { name: 'A', id: some },
    { name: 'B', id: PATH },
    { name: 'C', id: some },
  ]
  expect(rows.map(({ doc }) => doc)).toEqual([{ ...surveyed, sitesurvey_path: paths }, ...docs.slice(1)])
})
