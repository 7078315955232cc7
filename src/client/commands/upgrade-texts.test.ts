import { describe, expect, it } from 'vitest'
import { timeText } from '../output.ts'
import {
  appliancesText,
  autoText,
  furtherText,
  listText,
  listed,
  reasonsText,
  stateText,
  withOverview,
} from './upgrade-texts.ts'

const end = Date.parse('2026-03-02T01:59:00Z') / 1000
const plain = {
  id: 'u',
  kind: 'device',
  created_time: 0,
  target_version: '2.0.0',
  status: 'queued',
  counts: { total: 1 },
}

describe('the list of upgrades', () => {
  it('has columns for what upgrades await, their ends and why they stopped, if any has them', () => {
    expect(listText([listed(plain)], Infinity)).toMatch(/SKIPPED$/m)
    const stopped = { ...plain, status: 'cancelled', awaited: 2, end_time: end, stop_reason: 'its end time' }
    const text = listText([listed(plain), listed(stopped)], Infinity)
    expect(text).toMatch(/SKIPPED +AWAITED +ENDS +REASON\n/)
    expect(text).toMatch(/ 2 +2026-03-0\S+ \S+.* its end time *$/m)
    const held = { by: 'approval', reason: 'its start waits for an approval' }
    expect(listText([listed({ ...plain, held })], Infinity)).toMatch(/ waiting .* its start waits for an approval *$/m)
  })
})

it('says after an approval how many are missing', () => {
  const missing = (count: number) => furtherText({ ...plain, held: { approvals_missing: count } })
  expect([furtherText(plain), missing(1)]).toEqual(['', ''])
  expect([missing(2), missing(3)]).toEqual([
    ', which waits for 1 further approval',
    ', which waits for 2 further approvals',
  ])
})

describe('the state of an upgrade', () => {
  it('says what it awaits, when it ends while it runs, and why it was stopped', () => {
    expect(withOverview('state', 'device', plain)).toBe('state')
    expect(withOverview('state', 'ssr', { ...plain, awaited: 1, end_time: end })).toMatch(
      /^state\nawaits 1 router of other upgrades\nends at 2026-03-0\S+/,
    )
    const awaiting = { ...plain, status: 'completed', awaited: 2, end_time: end }
    expect(withOverview('state', 'device', awaiting)).toMatch(/^state\nawaits 2 devices .*\nends at 2026/)
    const stopped = { ...plain, status: 'cancelled', end_time: end, stop_reason: 'its end time' }
    expect(withOverview('state', 'mxedge', stopped)).toBe('state\nstopped: its end time')
    const held = { by: 'approval', reason: 'its start waits for an approval' }
    expect(withOverview('state', 'mxedge', { ...plain, held })).toBe('state\nwaiting: its start waits for an approval')
    // Each of its sites says so.
    expect(withOverview('state', 'ssr', { ...plain, held })).toBe('state')
    // The state has a word of it elsewhere.
    expect(withOverview('its end time tower', 'device', stopped)).toMatch(/tower\nstopped: its end time$/)
  })

  it('shows times in reasons as everywhere else', () => {
    const reason = 'Invalid field end_time: is 2026-03-02T01:59:00.000Z'
    const state = { enabled: true, next_time: end, last_time: end, upgrade_id: 'u', reason }
    expect(autoText(state)).toContain(`\nreason      Invalid field end_time: is ${timeText(end)}`)
    const stop_reason = 'ended at its end_time, 2026-03-02T01:59:00.000Z'
    const local = `ended at its end_time, ${timeText(end)}`
    const stopped = { ...plain, status: 'cancelled', stop_reason }
    expect(withOverview('state', 'device', stopped)).toBe(`state\nstopped: ${local}`)
    expect(listText([listed(stopped)], Infinity)).toContain(local)
    expect(listed(stopped).stop_reason).toBe(stop_reason)
    const context = { names: new Map(), siteId: 's', width: Infinity }
    expect(stateText('device', { status: 'cancelled', targets: {}, stop_reason }, context)).toContain(local)
    expect(appliancesText([{ reason: stop_reason }], Infinity)).toContain(local)
    expect(reasonsText('skipped', [{ reason: stop_reason }])).toEqual([`skipped: 1, ${local}`])
  })
})
