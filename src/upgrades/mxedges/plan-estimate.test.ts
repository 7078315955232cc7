import { expect, test } from 'vitest'
import type { NewTarget, NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import { type MxedgeStep, noCounts } from '../../mxedges/upgrades/upgrade.ts'
import { planMxedgeEstimate } from './plan-estimate.ts'

const startAt = new Date('2026-06-13T12:00:00Z')
const service: MxedgeStep = { service: 'tunterm', from: '1.0', to: '2.0', image_id: 'image', allow_downgrade: false }
const distro: MxedgeStep = { distro: true, from: 'focal', to: 'jammy' }

interface Box {
  readonly phase: number
  readonly wave?: number
  readonly site?: string
  readonly steps?: readonly MxedgeStep[]
}

function estimate(boxes: readonly Box[], windows?: NewUpgrade['plan']['windows']) {
  const targets = boxes.map(({ phase, wave = 1, site = null, steps = [service] }, index): NewTarget => {
    const place = { phase, wave, ordinal: index + 1, registrationEpoch: 1, plannedSiteId: site }
    const isPlanned = phase > 0
    const state = isPlanned ? { state: 'planned' as const, reason: null } : { state: 'skipped' as const, reason: 'why' }
    return { mxedgeId: String(index), name: '', ...place, steps, ...state }
  })
  const sizes = [1, 2, 3].map((phase) => boxes.filter((box) => box.phase === phase).length)
  const planned = sizes.reduce((sum, size) => sum + size, 0)
  const limits = { gates: null, max_failure_percentage: null, planned, ...(windows !== undefined && { windows }) }
  const { endsAbout, beginsAbout } = planMxedgeEstimate({
    ...{
      id: 'id',
      siteId: null,
      request: {},
      counts: noCounts,
      notes: [],
      joining: null,
      adminId: null,
      hold: null,
      includeDueMs: null,
    },
    plan: { strategy: 'canary', phases: 3, phase_sizes: sizes, ...limits },
    startAt,
    targets,
  })
  const minutes = (at: Date | null) => at && (at.getTime() - startAt.getTime()) / 60_000
  return { ends: minutes(endsAbout), begins: beginsAbout.map(minutes) }
}

test('phases follow one another, and the appliances of one are upgraded side by side', () => {
  const boxes = [{ phase: 1 }, { phase: 1, steps: [service, service] }, { phase: 3, steps: [distro] }]
  expect(estimate(boxes)).toEqual({ begins: [0, null, 4], ends: 24 })
})

test('the waves of a phase follow one another, whatever their order in the plan', () => {
  const boxes = [{ phase: 1, wave: 2 }, { phase: 1 }, { phase: 2 }]
  expect(estimate(boxes)).toEqual({ begins: [0, 4, null], ends: 6 })
})

test('an appliance waits for a window of its site that is long enough', () => {
  const windows = [
    { site_id: 'a', timezone: 'UTC', windows: [{ start: '14:00', end: '16:00' }] },
    { site_id: 'b', timezone: 'UTC', windows: [{ start: '12:00', end: '12:30' }] },
  ]
  const at = (site: string, steps: readonly MxedgeStep[] = [service]) => ({ phase: 1, site, steps })
  expect(estimate([at('a'), { phase: 2 }], windows)).toEqual({ begins: [120, 122, null], ends: 124 })
  expect(estimate([at('a'), at('b')], windows)).toEqual({ begins: [0, null, null], ends: 122 })
})

test('there is no end where nothing is to be done', () => {
  expect(estimate([{ phase: 0 }])).toEqual({ begins: [null, null, null], ends: null })
})
