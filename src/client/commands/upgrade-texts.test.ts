import { describe, expect, it } from 'vitest'
import { listText, listed, withOverview } from './upgrade-texts.ts'

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
  })
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
    expect(withOverview('state: its end time', 'device', stopped)).toBe('state: its end time')
  })
})
