import { expect, it } from 'vitest'
import type { Report } from '../upgrade.ts'
import { restOf } from './rest.ts'

type Row = Report['devices'][number]

function reportOf(devices: readonly Partial<Row>[], more: Partial<Report> = {}) {
  const row = { status: 'cancelled', phase: 2, site_id: 's1', model: 'AP45' } as Row
  return {
    status: 'failed',
    target_version: '2.0.0',
    devices: devices.map((one) => ({ ...row, ...one })),
    ...more,
  } as const
}

it('is what was not begun, with its sites and models', () => {
  const devices = [{ site_id: 's2' }, {}, { model: 'AP12' }, { status: 'upgraded', site_id: 's3' }] as const
  expect(restOf(reportOf(devices))).toEqual({
    count: 3,
    draft: { version: '2.0.0', sites: ['s1', 's2'], models: ['AP12', 'AP45'] },
  })
  expect(restOf(reportOf([{}], { target_version: '' }))?.draft).toEqual({ sites: ['s1'], models: ['AP45'] })
})

it('is nothing while the upgrade runs, and nothing that people excluded or another upgrade took over', () => {
  expect(restOf(reportOf([{}], { status: 'upgrading' }))).toBeNull()
  expect(restOf(reportOf([{ phase: 0 }, { status: 'failed' }]))).toBeNull()
})
