import { expect, it } from 'vitest'
import { appliancePlan, changesIn, devicePlan, groupByReason } from './plan.ts'

const names = new Map([['m1', 'Cellar']])
const common = { plan_id: 'p', expires_at: 0, total: 1, stops_after_failures: null, ends_about: 9 }

it('groups notes by the reason', () => {
  const note = (id: string, reason: string) => ({ id, name: id, address: undefined, reason })
  const notes = [note('a', 'is in another upgrade'), note('b', 'runs 2.0 already'), note('c', 'runs 2.0 already')]
  expect(groupByReason(notes)).toEqual([
    { reason: 'runs 2.0 already', members: notes.slice(1) },
    { reason: 'is in another upgrade', members: notes.slice(0, 1) },
  ])
})

it('separates notes about devices from those about sites, and names devices without a name by the address', () => {
  const plan = devicePlan({
    ...common,
    phases: [
      { percent: 100, total: 1, sites: [{ site_id: 's', start_time: 1, begins_about: 5, macs: ['020000000001'] }] },
    ],
    ...{ downloads: [], paths: [{ versions: ['1', '2'], macs: ['a', 'b'] }] },
    skipped: [{ mac: '020000000002', reason: 'runs 2.0 already' }],
    notes: [
      { site_id: 's', reason: 'Devices restart before those that they depend on' },
      { site_id: 's', mac: '020000000001', name: 'Lobby', reason: 'no recovery snapshot' },
    ],
  })
  const skipped = { id: '020000000002', name: '02:00:00:00:00:02', address: '02:00:00:00:00:02' }
  expect(plan).toMatchObject({
    phases: [{ number: 1, sites: [{ id: 's', count: 1, begins: 5 }], appliances: [] }],
    passing: 2,
    skipped: [{ ...skipped, reason: 'runs 2.0 already' }],
    noted: [{ name: 'Lobby', address: '02:00:00:00:00:01', reason: 'no recovery snapshot' }],
    notes: [{ siteId: 's', reason: 'Devices restart before those that they depend on' }],
  })
})

it('names appliances and their steps', () => {
  const steps = [{ service: 'tunterm', from_version: '1.0', to_version: '2.0', done: false }]
  const plan = appliancePlan(
    {
      ...common,
      start_time: 0,
      phases: [{ percent: 100, total: 1, begins_about: 7, mxedges: [{ mxedge_id: 'm1', steps }] }],
      skipped: [{ mxedge_id: 'm2', reason: 'runs 2.0 already' }],
      notes: [{ reason: 'versions have no effect with distro' }, { mxedge_id: 'm1', reason: 'mxdas is not installed' }],
    },
    names,
  )
  expect(plan).toMatchObject({
    phases: [{ beginsAbout: 7, sites: [], appliances: [{ id: 'm1', name: 'Cellar', steps: ['tunterm 1.0 → 2.0'] }] }],
    skipped: [{ name: 'm2', reason: 'runs 2.0 already' }],
    noted: [{ name: 'Cellar', reason: 'mxdas is not installed' }],
    notes: [{ siteId: undefined, reason: 'versions have no effect with distro' }],
  })
})

it('reads what has changed', () => {
  const differences = [
    { mac: '020000000001', name: 'Lobby', reason: 'runs 1' },
    { site_id: 's', reason: 'starts later' },
    { mxedge_id: 'm1', reason: 'is in another upgrade' },
  ]
  const changes = changesIn({ detail: 'The plan no longer fits', differences, total: 3 }, names)
  expect(changes).toMatchObject({
    differences: [
      { member: { name: 'Lobby' } },
      { siteId: 's', reason: 'starts later' },
      { member: { name: 'Cellar' } },
    ],
    total: 3,
  })
  for (const other of [null, 'x', {}, { differences: [] }]) expect(changesIn(other, names)).toBeNull()
})
