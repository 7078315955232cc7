import fc from 'fast-check'
import { expect, it } from 'vitest'
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
