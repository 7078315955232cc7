import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { parseDraft, parseInstants, withInstants } from './draft.ts'
import { requestOf } from './request.ts'

it('reads any address, and its own again', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          'kind',
          'ids',
          'services',
          'sites',
          'type',
          'rules',
          'version',
          'begin',
          'gate',
          'approver',
          'soak',
          'end',
          'times',
          'people',
          'phases',
          'part',
          'takeover',
          'inclusion',
          'hours',
          'windows',
          'x',
        ),
        fc.oneof(
          fc.constantFrom('ssr', 'mxedge', 'reboot', 'waiting', 'later', 'own', 'approved', '2'),
          fc.jsonValue(),
        ),
      ),
      (search) => {
        const draft = parseInstants(search)
        expect(parseInstants({ ...draft })).toEqual(draft)
        expect(parseDraft({ ...draft })).toEqual(draft)
        requestOf(draft)
      },
    ),
  )
})

it('has the same instants for people in different zones', () => {
  const typed = { kind: 'ssr', start: '2026-12-01T02:00', end: '2026-12-01T04:00', reboot: 'soon', times: ['', 'x'] }
  vi.stubEnv('TZ', 'America/New_York')
  const draft = parseInstants(typed)
  expect(draft).toEqual({ ...typed, start: '2026-12-01T07:00:00Z', end: '2026-12-01T09:00:00Z' })
  vi.stubEnv('TZ', 'Asia/Tokyo')
  expect(parseInstants({ ...draft })).toEqual(draft)
  // It is a time at each site.
  expect(parseInstants({ start: '2026-12-01T02:00' })).toEqual({ start: '2026-12-01T02:00' })
  vi.unstubAllEnvs()
})

it('has the times of the clock of a site as instants', () => {
  const typed = { kind: 'ssr', start: '2026-12-01T02:00', end: '2026-12-01T04:00+01:00', times: ['2026-12-01T03:00'] }
  expect(withInstants(parseDraft(typed), 'Asia/Tokyo')).toEqual({
    ...typed,
    start: '2026-11-30T17:00:00Z',
    end: '2026-12-01T03:00:00Z',
    times: ['2026-11-30T18:00:00Z'],
  })
})
