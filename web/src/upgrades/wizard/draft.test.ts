import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { parseDraft } from './draft.ts'
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
        const draft = parseDraft(search)
        expect(parseDraft({ ...draft })).toEqual(draft)
        requestOf(draft)
      },
    ),
  )
})

it('has the same instants for people in different zones', () => {
  const typed = { kind: 'ssr', start: '2026-12-01T02:00', end: '2026-12-01T04:00', reboot: 'soon', times: ['', 'x'] }
  vi.stubEnv('TZ', 'America/New_York')
  const draft = parseDraft(typed)
  expect(draft).toEqual({ ...typed, start: '2026-12-01T07:00:00Z', end: '2026-12-01T09:00:00Z' })
  vi.stubEnv('TZ', 'Asia/Tokyo')
  expect(parseDraft({ ...draft })).toEqual(draft)
  // It is a time at each site.
  expect(parseDraft({ start: '2026-12-01T02:00' })).toEqual({ start: '2026-12-01T02:00' })
  vi.unstubAllEnvs()
})
