import { expect, it } from 'vitest'
import { effectText } from '../display/forms/effect.ts'
import type { Target, TargetStatus } from './upgrade.ts'
import { begins, excludableOf, exclusionEffect, skippedText } from './exclusion.ts'

const target = (mac: string, status: TargetStatus): Target => ({ mac, site_id: 's', status })

it('devices are excluded until they install, and while the upgrade runs', () => {
  const targets = [
    target('1', 'scheduled'),
    target('2', 'downloaded'),
    target('3', 'reboot_in_progress'),
    target('4', 'failed'),
  ]
  const sites = [{ site_id: 's' }]
  expect(excludableOf({ status: 'upgrading', sites }, targets).map(({ mac }) => mac)).toEqual(['1', '2'])
  expect(excludableOf({ status: 'cancelled', sites }, targets)).toEqual([])
})

it('devices are not excluded from what stops anyway', () => {
  const targets = [target('1', 'scheduled'), { ...target('2', 'scheduled'), site_id: 'other' }]
  const parts = [{ site_id: 's', reason: 'cancelled by Ada' }, { site_id: 'other' }]
  expect(excludableOf({ status: 'running', sites: parts }, targets).map(({ mac }) => mac)).toEqual(['2'])
  expect(begins({ status: 'upgrading' })).toBe(true)
  expect(begins({ status: 'upgrading', stop_reason: 'cancelled by Ada' })).toBe(false)
})

it('the effect says how many are excluded, or which one', () => {
  expect(effectText(exclusionEffect(1, 'device', 'Lobby'))).toMatch(
    /^Excludes 1 device \(Lobby\)\. It is commanded no more/,
  )
  expect(effectText(exclusionEffect(2, 'device'))).toMatch(/^Excludes 2 devices\. They are commanded no more/)
})

it('what was not excluded is said by reason', () => {
  expect(skippedText([], 'device')).toBeNull()
  const skipped = [
    { reason: 'has restarted with the version', total: 1 },
    { reason: 'has ended in this upgrade', total: 2 },
  ]
  expect(skippedText(skipped, 'device')).toBe(
    'Not excluded: 1 device (has restarted with the version), 2 devices (has ended in this upgrade)',
  )
})
