import { expect, it } from 'vitest'
import { type Draft, percentsOf, settle } from './draft.ts'
import { devicePlan } from './plan.ts'
import { emptyPhasesText, optionTexts, passingText, planText, startEffect } from './plan-text.ts'

const sites = ['s', 't'].map((id) => ({ site_id: id, start_time: 1, macs: ['020000000001'] }))
const preview = { plan_id: 'p', expires_at: 0, total: 2, stops_after_failures: null, ends_about: 9 }
const phaseOf = (total: number) => ({ percent: 100, total, sites })
const planOf = (...totals: readonly number[]) =>
  devicePlan({ ...preview, phases: totals.map(phaseOf), ...{ downloads: [], paths: [], skipped: [], notes: [] } })
const plan = planOf(2)
/** What is said if each phase has devices. */
const textsOf = (draft: Draft) => optionTexts(draft, planOf(...percentsOf(settle(draft))))

it('says what an upgrade does with those of its plan', () => {
  expect(planText({}, plan)).toBe('Upgrades 2 devices in 1 phase')
  expect(startEffect({}, plan)).toBe('Upgrades and restarts 2 devices at 2 sites, in 1 phase.')
  expect(startEffect({ kind: 'mxedge' }, plan)).toBe('Upgrades 2 appliances, in 1 phase.')
  expect(planText({ kind: 'ssr', part: 'download' }, plan)).toBe('Downloads the version to 2 routers in 1 phase')
  expect(startEffect({ kind: 'ssr', part: 'download' }, plan)).toBe(
    'Downloads the version to 2 routers at 2 sites, in 1 phase. None of them reboots.',
  )
  expect(planText({ kind: 'ssr', part: 'reboot' }, plan)).toBe('Reboots 2 routers in 1 phase')
  expect(startEffect({ kind: 'ssr', part: 'reboot' }, plan)).toBe(
    'Reboots 2 routers at 2 sites, in 1 phase. They have downloaded the version before.',
  )
  // Another kind has no parts.
  expect(planText({ part: 'reboot' }, plan)).toBe('Upgrades 2 devices in 1 phase')
})

it('says how many pass over versions', () => {
  expect([0, 1, 2].map((passing) => passingText({ passing }, 'router'))).toEqual([
    '',
    ' 1 router restarts more than once, to pass over versions in between.',
    ' 2 routers restart more than once, to pass over versions in between.',
  ])
})

it('says how many devices download before their phase', () => {
  const textsBy = (...downloads: readonly number[]) => {
    const rest = { downloads: downloads.map(phaseOf), paths: [], skipped: [], notes: [] }
    return optionTexts({}, devicePlan({ ...preview, phases: [phaseOf(2)], ...rest }))
  }
  expect(textsBy()).toEqual([])
  expect(textsBy(1)).toEqual(['1 device downloads the version at the beginning already, and restarts in its phase.'])
  expect(textsBy(2, 3)).toEqual([
    '5 devices download the version at the beginning already, and restart in their phases.',
  ])
})

it('says what else a draft has chosen, before the start as well', () => {
  const draft = { takeover: 'waiting', inclusion: 'later', hours: 'own', windows: 'sat sun 22:00-04:00' } as const
  const texts = [
    'Takes over each device that another upgrade has not begun with.',
    'Until it ends, each device that joins later is upgraded too.',
    'Begins only within sat sun 22:00-04:00, on the clocks of each site.',
  ]
  expect(textsOf(draft)).toEqual(texts)
  expect(startEffect(draft, plan)).toBe(['Upgrades and restarts 2 devices at 2 sites, in 1 phase.', ...texts].join(' '))
  expect(textsOf({ kind: 'mxedge', ids: ['m', 'n'], inclusion: 'later', hours: 'any' })).toEqual([
    'Begins at any time, whatever the maintenance windows of each site.',
  ])
  expect(textsOf({ ...draft, siteId: 's' }).at(-1)).toBe(
    'Begins only within sat sun 22:00-04:00, on the clocks of the site.',
  )
  expect(textsOf({ siteId: 's', hours: 'any' })).toEqual([
    'Begins at any time, whatever the maintenance windows of the site.',
  ])
  const begun = (draft: Draft) => textsOf({ begin: 'approved', ...draft })
  expect(begun({})).toEqual(['Begins once a person has approved it.'])
  expect(begun({ approver: 'another' })).toEqual(['Begins once another person has approved it.'])
  expect(begun({ people: '2' })).toEqual(['Begins once 2 people have approved it.'])
  expect(begun({ people: '3', approver: 'another' })).toEqual(['Begins once 3 other people have approved it.'])
  expect(textsOf({ phases: '1 10 50', gate: 'first', soak: '480', people: '2' })).toEqual([
    'Goes on after phase 1 once 2 people have approved it.',
    'Waits for 480 minutes after each of the phases 2 to 3.',
  ])
  expect(textsOf({ phases: '10 50', gate: 'first', times: ['', '2099-01-01T04:00'] })).toEqual([
    'Goes on after phase 1 once a person has approved it.',
    expect.stringMatching(/^Phase 3 begins on 0?1 Jan 2099, 04:00:00 .* at the earliest\.$/),
  ])
  const end = '2099-01-01T04:00'
  for (const [kind, unit] of [
    ['device', 'device'],
    ['mxedge', 'appliance'],
  ] as const)
    expect(textsOf({ kind, end })).toEqual([
      expect.stringMatching(`^Ends on 0?1 Jan 2099, 04:00:00 .*: each ${unit} that has not begun by then is left\\.$`),
    ])
  expect(textsOf({ phases: '1 10', begin: 'approved', gate: 'each' })).toEqual([
    'Begins once a person has approved it.',
    'Goes on after each of the phases 1 to 2 once a person has approved it.',
  ])
  expect(textsOf({})).toEqual([])
})

it('leaves out phases without devices, and what would be awaited after them', () => {
  const draft = { phases: '1 10 50', gate: 'each', times: ['', '2099-01-01T04:00:00Z', ''] } as const
  expect(planText(draft, planOf(1, 0, 0, 1))).toBe('Upgrades 2 devices in 2 phases')
  expect(optionTexts(draft, planOf(1, 0, 0, 1))).toEqual(['Goes on after phase 1 once a person has approved it.'])
  expect(optionTexts(draft, planOf(2, 0, 0, 0))).toEqual([])
  expect(optionTexts({ ...draft, begin: 'approved' }, planOf(2))).toEqual(['Begins once a person has approved it.'])
  const textOf = (...totals: readonly number[]) => emptyPhasesText({}, planOf(...totals))
  expect(textOf(1, 1)).toBeNull()
  expect(textOf(1, 0, 1)).toBe('Phase 2 has no device: the upgrade passes over it, and waits for nothing after it.')
  expect(textOf(1, 0, 0, 0)).toBe(
    'Phases 2, 3 and 4 have no device: the upgrade passes over them, and waits for nothing after them.',
  )
})

it('speaks of one router or appliance alone', () => {
  const one = { ids: ['a'], takeover: 'waiting', end: '2099-01-01T04:00:00Z', hours: 'any' } as const
  const texts = (unit: string) => [
    expect.stringMatching(`: the ${unit} is left if it has not begun by then\\.$`),
    `Takes over the ${unit} if another upgrade has not begun with it.`,
    'Begins at any time, whatever the maintenance windows of the site.',
  ]
  expect(textsOf({ kind: 'mxedge', ...one })).toEqual(texts('appliance'))
  expect(textsOf({ kind: 'ssr', ...one })).toEqual(texts('router'))
  // Others may join.
  expect(textsOf({ kind: 'ssr', ...one, inclusion: 'later' })[1]).toMatch('each router')
})
