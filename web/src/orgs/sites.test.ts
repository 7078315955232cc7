import { expect, it } from 'vitest'
import { labelSites, siteChoices } from './sites.ts'

const base = { org_id: 'org', timezone: 'UTC', created_time: 0, modified_time: 0, tzoffset: 0 }
type Given = Parameters<typeof labelSites>[0][number]
const site = (id: string, name: string, address?: string): Given => ({
  ...{ ...base, id, name },
  ...(address !== undefined && { address }),
})

it('tells sites of one name apart, by their addresses where they have one each', () => {
  const sites = labelSites([
    site('00000001', 'Shop', 'Main Street 1'),
    site('00000002', 'Shop', 'Side Street 2'),
    site('00000003', 'Shop', ''),
    site('00000004', 'Office', 'Same 4'),
    site('00000005', 'Office', 'Same 4'),
    site('00000006', 'Lab', 'Far 6'),
  ])
  expect(siteChoices(sites).map(({ label }) => label)).toEqual([
    'Shop (Main Street 1)',
    'Shop (Side Street 2)',
    'Shop (…000003)',
    'Office (…000004)',
    'Office (…000005)',
    'Lab',
  ])
})
