import { expect, it } from 'vitest'
import { applianceTimeline } from './appliance-timeline.ts'

const upgrade = { id: 'u1', status: 'upgrading' as const, created_time: 1 }
const record = (timestamp: number, message: string, name: string | null = 'Ada') => ({
  ...{ timestamp, message, admin_name: name ?? 'mxedges' },
  admin_id: name,
})

const wordsOf = (...args: Parameters<typeof applianceTimeline>) =>
  applianceTimeline(...args).map(({ what, detail }) => [what, detail])

it('lists what the audit log has, between the creation and the end', () => {
  const log = [
    record(9, 'Retry 2 failed edge appliances of upgrade u1'),
    record(8, 'Stop upgrade u1 of edge appliances: 2 of 3 failed', null),
    record(7, 'Upgrade u2 takes 1 edge appliance over from upgrade u1'),
    record(6, 'Upgrade u1 takes in 3 further edge appliances', null),
    record(5, 'Resume upgrade u1 of edge appliances'),
    record(4, 'Hold upgrade u1 of edge appliances: phase 1: 2 failed', null),
    record(3, 'Pause upgrade u1 of edge appliances'),
    record(2, 'Change upgrade u1 to 4 edge appliances'),
    record(1, 'Upgrade u1 takes 2 edge appliances over from upgrade u0'),
  ]
  expect(wordsOf({ ...upgrade, status: 'completed', finished_time: 9 }, log)).toEqual([
    ['Completed', ''],
    ['Retried', 'by Ada · 2 failed edge appliances'],
    ['Stopped', '2 of 3 failed'],
    ['Appliances taken', 'by Ada · 1 edge appliance'],
    ['Appliances joined', '3 further edge appliances'],
    ['Resumed', 'by Ada'],
    ['Held', 'phase 1: 2 failed'],
    ['Paused', 'by Ada'],
    ['Changed', 'by Ada · 4 edge appliances'],
    ['Appliances taken over', 'by Ada · 2 edge appliances'],
    ['Created', ''],
  ])
})

it('lists what it does not know in the words of the log, and no end of an upgrade that goes on', () => {
  expect(wordsOf({ ...upgrade, finished_time: 9 }, [record(2, 'Something about u1')])).toEqual([
    ['Something about u1', 'by Ada'],
    ['Created', ''],
  ])
})
