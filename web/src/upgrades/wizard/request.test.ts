import { expect, it } from 'vitest'
import { upgradeKinds } from '../overview.ts'
import { type Draft, strategies } from './draft.ts'
import { pathOf, requestOf, rulesIn } from './request.ts'

function deviceBody(draft: Draft) {
  const request = requestOf(draft)
  if (request.kind !== 'device') throw new Error(request.kind)
  return request.body
}

it('asks for the latest version everywhere by default', () => {
  expect(deviceBody({})).toEqual({
    all_sites: true,
    versions: ['latest'],
    reboot_strategy: 'canary',
    canary_phases: [1, 10, 50, 100],
    max_failure_percentage: 5,
  })
})

it('sends the parameters of the chosen strategy alone', () => {
  expect(deviceBody({ strategy: 'big_bang', phases: '5, 100', failures: '1', sites: ['s'], models: [] })).toEqual({
    site_ids: ['s'],
    models: [],
    versions: ['latest'],
    reboot_strategy: 'big_bang',
  })
  expect(deviceBody({ strategy: 'rrm', first: '3', type: 'ap', start: '2026-12-01T02:00' })).toEqual({
    all_sites: true,
    device_type: 'ap',
    versions: ['latest'],
    start_datetime: '2026-12-01T02:00',
    reboot_strategy: 'rrm',
    max_failure_percentage: 5,
    rrm_first_batch_percentage: 3,
    rrm_max_batch_percentage: 10,
    rrm_node_order: 'fringe_to_center',
  })
})

it.each([
  ['first', [1]],
  ['each', [1, 2]],
] as const)('waits for approval after the phase: %s', (gate, phases) => {
  const expected = phases.map((phase) => ({ phase, wait_for: 'approval' }))
  expect(deviceBody({ phases: '10 50;100', gate }).phase_gates).toEqual(expected)
  // The last phase is implied.
  expect(deviceBody({ phases: '10 50', gate }).phase_gates).toEqual(expected)
  expect(deviceBody({ phases: '10 50;100', gate, approver: 'another' }).phase_gates).toEqual(
    phases.map((phase) => ({ phase, wait_for: 'approval', prevent_self_approval: true })),
  )
})

it('waits for a time after the phases without an approval', () => {
  const wait = { wait_for: 'time', minutes: 480 }
  expect(deviceBody({ phases: '10 50 100', soak: '480' }).phase_gates).toEqual([
    { phase: 1, ...wait },
    { phase: 2, ...wait },
  ])
  expect(deviceBody({ phases: '10 50 100', soak: '480', gate: 'first' }).phase_gates).toEqual([
    { phase: 1, wait_for: 'approval' },
    { phase: 2, ...wait },
  ])
  expect(deviceBody({ strategy: 'serial', soak: '480' })).not.toHaveProperty('phase_gates')
})

it('gives phases the earliest times of their fields, and a gate for them where there is none', () => {
  const time = (hour: number) => ({ not_before: new Date(2099, 0, 1, hour).getTime() / 1000 })
  const draft = { phases: '10 50 100', times: ['2099-01-01T03:00', '2099-01-01T04:00'] }
  expect(deviceBody({ ...draft, gate: 'first' }).phase_gates).toEqual([
    { phase: 1, wait_for: 'approval', ...time(3) },
    { phase: 2, wait_for: 'time', ...time(4) },
  ])
  expect(deviceBody({ ...draft, times: ['', '2099-01-01T04:00'], soak: '5' }).phase_gates).toEqual([
    { phase: 1, wait_for: 'time', minutes: 5 },
    { phase: 2, wait_for: 'time', minutes: 5, ...time(4) },
  ])
  // A canary upgrade may have a phase for each percent.
  const all = Array.from({ length: 100 }, (_, index) => index + 1)
  const last = {
    phases: all.join(' '),
    times: all.slice(1).map((percent) => (percent === 100 ? '2099-01-01T03:00' : '')),
  }
  expect(deviceBody(last).phase_gates).toEqual([{ phase: 99, wait_for: 'time', ...time(3) }])
  // What the fields of another strategy or of more phases had has no effect.
  expect(deviceBody({ ...draft, strategy: 'serial' })).not.toHaveProperty('phase_gates')
  expect(deviceBody({ ...draft, phases: '50' }).phase_gates).toHaveLength(1)
})

it('ends upgrades of all kinds at a time', () => {
  const end = '2099-01-01T04:00'
  const time = { end_time: new Date(2099, 0, 1, 4).getTime() / 1000 }
  for (const kind of upgradeKinds) expect(requestOf({ kind, end }).body).toMatchObject(time)
})

it('waits for approval before it begins, with any strategy', () => {
  const start = { phase: 0, wait_for: 'approval' }
  for (const strategy of strategies) expect(deviceBody({ strategy, begin: 'approved' }).phase_gates).toEqual([start])
  expect(deviceBody({ begin: 'approved', people: '2' }).phase_gates).toEqual([{ ...start, approvals: 2 }])
  const both = { begin: 'approved', gate: 'first', approver: 'another' } as const
  expect(deviceBody(both).phase_gates).toMatchObject([
    { phase: 0, prevent_self_approval: true },
    { phase: 1, prevent_self_approval: true },
  ])
})

it('reads a rule from each line', () => {
  expect(deviceBody({ rules: 'match_name[0:3]=lab, match_model=EAP102\n\n match_role=a=b ' }).rules).toEqual([
    { 'match_name[0:3]': 'lab', match_model: 'EAP102' },
    { match_role: 'a=b' },
  ])
  expect(rulesIn('nonsense')).toEqual([{ nonsense: '' }])
  expect(rulesIn('match_model=A, match_model=B')).toEqual([{ match_model: 'A', 'match_model (twice)': 'B' }])
  expect(deviceBody({ rules: ' \n' })).not.toHaveProperty('rules')
})

it('leaves what is not a number to the server', () => {
  const request: unknown = JSON.parse(JSON.stringify(deviceBody({ phases: '1, ten', failures: 'x' })))
  expect(request).toMatchObject({ canary_phases: [1, null], max_failure_percentage: null })
})

it('names each router, and sends no limit that their upgrades do not have', () => {
  const draft = { kind: 'ssr', version: '6.2.0', strategy: 'rrm', failures: '1', gate: 'each', sites: ['s'] } as const
  expect(requestOf(draft, ['a', 'b'])).toEqual({
    kind: 'ssr',
    body: { device_ids: ['a', 'b'], version: '6.2.0', strategy: 'serial' },
  })
  const later = { start: '2026-12-01T02:00', reboot: '2026-12-01T04:00' }
  const start = new Date(2026, 11, 1, 2).getTime() / 1000
  expect(requestOf({ kind: 'ssr', ids: ['b'], strategy: 'big_bang', ...later }, ['a', 'b']).body).toEqual({
    device_ids: ['b'],
    version: 'stable',
    start_time: start,
    reboot_at: start + 7200,
    strategy: 'big_bang',
  })
})

it('leaves the download or the reboot of routers out', () => {
  const times = { start: '2026-12-01T02:00', reboot: '2026-12-01T04:00' }
  const start = new Date(2026, 11, 1, 2).getTime() / 1000
  const bodyOf = (draft: Draft) => requestOf({ kind: 'ssr', ids: ['a'], ...draft, ...times }).body
  expect(bodyOf({ part: 'download' })).toMatchObject({ start_time: start, reboot_at: -1 })
  expect(bodyOf({ part: 'reboot' })).toMatchObject({ start_time: -1, reboot_at: start + 7200 })
})

it('takes over and takes in for every kind, and has windows of its own', () => {
  const draft = { takeover: 'waiting', inclusion: 'later', hours: 'own', windows: 'sat 22:00-04:00' } as const
  const common = {
    supersede: true,
    include_new: true,
    maintenance_windows: [{ days: ['sat'], start: '22:00', end: '04:00' }],
  }
  for (const kind of ['device', 'ssr', 'mxedge'] as const)
    expect(requestOf({ ...draft, kind }, ['a']).body).toMatchObject(common)
  expect(deviceBody({ hours: 'any', windows: 'sat 22:00-04:00' }).maintenance_windows).toEqual([])
  // An empty list would mean any time.
  expect(deviceBody({ hours: 'own' }).maintenance_windows).toEqual([{ start: '', end: '' }])
  expect(deviceBody({ windows: 'sat 22:00-04:00' })).not.toHaveProperty('maintenance_windows')
})

it('takes nothing in where the interface refuses it', () => {
  const draft = { inclusion: 'later', ids: ['a'] } as const
  expect(requestOf({ ...draft, kind: 'mxedge' }).body).not.toHaveProperty('include_new')
  expect(requestOf({ ...draft, kind: 'ssr', part: 'reboot' }).body).not.toHaveProperty('include_new')
  expect(requestOf({ ...draft, kind: 'ssr', part: 'download' }).body).toHaveProperty('include_new', true)
})

it('names the services of appliances, or their distribution', () => {
  const draft = { kind: 'mxedge', services: { tunterm: 'latest' }, gate: 'each', phases: '10, 100' } as const
  const phase_gates = [{ phase: 1, wait_for: 'approval' }]
  const limits = { strategy: 'canary', max_failure_percentage: 5, canary_phases: [10, 100], phase_gates }
  expect(requestOf(draft)).toEqual({
    kind: 'mxedge',
    body: { channel: 'stable', versions: { tunterm: 'latest' }, ...limits },
  })
  expect(
    requestOf({ ...draft, ids: ['m'], downgrades: 'allowed', channel: 'beta', strategy: 'big_bang' }).body,
  ).toEqual({
    mxedge_ids: ['m'],
    channel: 'beta',
    versions: { tunterm: 'latest' },
    allow_downgrades: { tunterm: true },
    strategy: 'big_bang',
  })
  expect(requestOf({ ...draft, distro: 'next' }).body).toEqual({ distro: 'next', ...limits })
})

it('leaves what is not a time to the server', () => {
  const { body } = requestOf({ kind: 'mxedge', start: 'soon' })
  expect(JSON.parse(JSON.stringify(body))).toMatchObject({ start_time: null })
})

it('asks a site for what it takes', () => {
  const at = { siteId: 's', inclusion: 'later', takeover: 'waiting', strategy: 'serial', sites: ['ignored'] } as const
  expect(requestOf(at)).toEqual({
    kind: 'device',
    siteId: 's',
    body: {
      versions: ['latest'],
      supersede: true,
      include_new: true,
      reboot_strategy: 'serial',
      max_failure_percentage: 5,
      reboot: true,
    },
  })
  const router = requestOf({ ...at, kind: 'ssr' }, ['r1', 'r2'])
  expect(router).toEqual({
    kind: 'ssr',
    siteId: 's',
    deviceId: 'r1',
    body: { version: 'stable', supersede: true },
  })
  expect(requestOf({ ...at, kind: 'ssr', ids: ['r2'] }, ['r1', 'r2'])).toMatchObject({ deviceId: 'r2' })
  const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
  const approved = { kind: 'ssr', name: ' Branches ', begin: 'approved', people: '2', gate: 'each' } as const
  for (const draft of [approved, { ...approved, ...at }])
    expect(requestOf(draft, ['r1']).body).toMatchObject({ name: 'Branches', phase_gates: [gate] })
  expect(pathOf(router, 'o')).toBe('/sites/s/ssr/r1/upgrade')
  expect(pathOf(requestOf({ ...at, kind: 'mxedge' }), 'o')).toBe('/sites/s/mxedges/upgrade')
  expect(pathOf(requestOf({ kind: 'ssr' }), 'o')).toBe('/orgs/o/ssr/upgrade')
})

it('needs no strategy for one appliance alone', () => {
  const body = { mxedge_ids: ['m'], channel: 'stable', versions: {}, strategy: 'big_bang' }
  expect(requestOf({ kind: 'mxedge', ids: ['m'], strategy: 'canary' })).toEqual({ kind: 'mxedge', body })
  expect(requestOf({ kind: 'mxedge', ids: ['m', 'n'] }).body).toMatchObject({ strategy: 'canary' })
})
