import { expect, it } from 'vitest'
import { applianceTimeline } from './appliance-timeline.ts'

const upgrade = { id: 'u1', status: 'upgrading' as const, created_time: 1 }
const record = (timestamp: number, name: string | null, after?: Record<string, unknown>) => ({
  ...{ timestamp, message: `Something about u1`, admin_name: name ?? 'mxedges', admin_id: name },
  ...(after !== undefined && { after: { id: 'u1', ...after } }),
})

const wordsOf = (...args: Parameters<typeof applianceTimeline>) =>
  applianceTimeline(...args).map(({ what, detail }) => [what, detail])

it('lists what the audit log has by its types, between the creation and the end', () => {
  const log = [
    record(9, 'Ada', { type: 'UPGRADE_RETRIED', total: 2 }),
    record(8.5, null, { type: 'UPGRADE_END_REACHED', reason: 'ended at its end_time' }),
    record(8, null, { type: 'UPGRADE_STOPPED', reason: '2 of 3 failed' }),
    record(7, 'Ada', { type: 'UPGRADE_MXEDGES_TAKEN', total: 1, reason: 'taken over by upgrade u2' }),
    record(6, null, { type: 'UPGRADE_MXEDGES_JOINED', total: 3 }),
    record(5, 'Ada', { type: 'UPGRADE_RESUMED' }),
    record(4.7, null, { type: 'UPGRADE_CHECK_PASSED', phase: 2, note: 'loss is 0 %' }),
    record(4.5, 'Ada', { type: 'UPGRADE_APPROVED', phase: 1, note: 'agreed' }),
    record(4, null, { type: 'UPGRADE_HELD', reason: 'phase 1: 2 failed' }),
    record(3, 'Ada', { type: 'UPGRADE_PAUSED' }),
    record(2.5, 'Ada', { type: 'UPGRADE_APPROVED', phase: 0 }),
    record(2.2, 'Ada', { type: 'UPGRADE_HELD', reason: 'its start waits' }),
    record(2, 'Ada', { type: 'UPGRADE_CHANGED', total: 4 }),
    record(1, 'Ada', { type: 'UPGRADE_MXEDGES_TAKEN', id: 'u0', total: 2 }),
  ]
  expect(wordsOf({ ...upgrade, status: 'completed', finished_time: 9 }, { log, phases: [] })).toEqual([
    ['Completed', ''],
    ['Retried', 'by Ada · 2 appliances'],
    ['End reached', 'ended at its end_time'],
    ['Stopped', '2 of 3 failed'],
    ['Appliances taken', 'by Ada · 1 appliance'],
    ['Appliances joined', '3 appliances'],
    ['Resumed', 'by Ada'],
    ['Check passed · phase 2', 'loss is 0 %'],
    ['Approved · phase 1', 'by Ada · agreed'],
    ['Held', 'phase 1: 2 failed'],
    ['Paused', 'by Ada'],
    ['Approved · start', 'by Ada'],
    ['Held', 'its start waits'],
    ['Changed', 'by Ada · 4 appliances'],
    ['Appliances taken over', 'by Ada · 2 appliances'],
    ['Created', ''],
  ])
})

it('lists the times of phases, with how they ended', () => {
  const none = { underWay: 0, cancelled: 0, waiting: 0, state: 'ended' } as const
  const phases = [
    { ...none, phase: 1, total: 2, upgraded: 1, failed: 1, openedAt: 2, endedAt: 4 },
    { ...none, phase: 2, total: 1, upgraded: 0, failed: 0, openedAt: 5, endedAt: null },
    { ...none, phase: 3, total: 1, upgraded: 0, failed: 0, openedAt: null, endedAt: null },
  ]
  expect(wordsOf(upgrade, { log: [record(3, 'Ada', { type: 'UPGRADE_PAUSED' })], phases })).toEqual([
    ['Phase opened · phase 2', ''],
    ['Phase ended · phase 1', '1 of 2 upgraded, 1 failed'],
    ['Paused', 'by Ada'],
    ['Phase opened · phase 1', ''],
    ['Created', ''],
  ])
})

it('lists what it does not know in the words of the log, and no end of an upgrade that goes on', () => {
  const log = [record(2, 'Ada'), record(3, null, { type: 'UPGRADE_SUNG', total: 3 })]
  expect(wordsOf({ ...upgrade, finished_time: 9 }, { log, phases: [] })).toEqual([
    ['Something about u1', ''],
    ['Something about u1', 'by Ada'],
    ['Created', ''],
  ])
})
