import { expect, it } from 'vitest'
import { type UpgradeChange, applyChange } from './apply-change.ts'
import type { Report } from './upgrade.ts'

const site = { site_upgrade_id: 'here', status: 'queued', upgraded: 0, failed: 0, total: 3 }
const report = {
  status: 'running',
  ...{ upgraded: 1, failed: 0, skipped: 0, cancelled: 0, total: 5 },
  sites: [site, { ...site, site_upgrade_id: 'there', total: 2 }],
} as unknown as Report
const change: UpgradeChange = {
  upgrade_id: 'id',
  status: 'running',
  counts: { upgraded: 3, failed: 1, skipped: 0, cancelled: 0, total: 6 },
}

it('applies the fields of the whole upgrade', () => {
  expect(applyChange(report, change)).toEqual({ ...report, upgraded: 3, failed: 1, total: 6 })
})

it('leaves its end to the read that has the devices', () => {
  expect(applyChange(report, { ...change, status: 'completed' }).status).toBe('running')
  const { sites } = applyChange(report, { ...change, site_upgrade_id: 'here', status: 'completed' })
  expect(sites[0]).toMatchObject({ status: 'queued', upgraded: 3 })
})

it('takes over what is said of one site', () => {
  const { sites, ...rest } = applyChange(report, { ...change, site_upgrade_id: 'here', status: 'upgrading' })
  expect([rest, sites]).toEqual([
    { ...report, sites: undefined },
    [{ ...site, status: 'upgrading', upgraded: 3, failed: 1, total: 6 }, report.sites[1]],
  ])
})
