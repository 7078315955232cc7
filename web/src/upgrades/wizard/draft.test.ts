import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseDraft, requestOf, rulesIn } from './draft.ts'

it('asks for the latest version everywhere by default', () => {
  expect(requestOf({})).toEqual({
    all_sites: true,
    versions: ['latest'],
    reboot_strategy: 'canary',
    canary_phases: [1, 10, 50, 100],
    max_failure_percentage: 5,
  })
})

it('sends the parameters of the chosen strategy alone', () => {
  expect(requestOf({ strategy: 'big_bang', phases: '5, 100', failures: '1', sites: ['s'], models: [] })).toEqual({
    site_ids: ['s'],
    models: [],
    versions: ['latest'],
    reboot_strategy: 'big_bang',
  })
  expect(requestOf({ strategy: 'rrm', first: '3', type: 'ap', start: '2026-12-01T02:00' })).toEqual({
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
  expect(requestOf({ phases: '10 50;100', gate }).phase_gates).toEqual(expected)
  expect(requestOf({ phases: '10 50;100', gate, approver: 'another' }).phase_gates).toEqual(
    phases.map((phase) => ({ phase, wait_for: 'approval', prevent_self_approval: true })),
  )
})

it('reads a rule from each line', () => {
  expect(requestOf({ rules: 'match_name[0:3]=lab, match_model=EAP102\n\n match_role=a=b ' }).rules).toEqual([
    { 'match_name[0:3]': 'lab', match_model: 'EAP102' },
    { match_role: 'a=b' },
  ])
  expect(rulesIn('nonsense')).toEqual([{ nonsense: '' }])
  expect(rulesIn('match_model=A, match_model=B')).toEqual([{ match_model: 'A', 'match_model (twice)': 'B' }])
  expect(requestOf({ rules: ' \n' })).not.toHaveProperty('rules')
})

it('leaves what is no number to the server', () => {
  const request: unknown = JSON.parse(JSON.stringify(requestOf({ phases: '1, ten', failures: 'x' })))
  expect(request).toMatchObject({ canary_phases: [1, null], max_failure_percentage: null })
})

it('reads any address, and its own again', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom('sites', 'type', 'rules', 'version', 'gate', 'approver', 'phases', 'x'),
        fc.jsonValue(),
      ),
      (search) => {
        const draft = parseDraft(search)
        expect(parseDraft({ ...draft })).toEqual(draft)
        requestOf(draft)
      },
    ),
  )
})
