import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WirePrivilege } from '../../access/tables.ts'
import { planRevocation } from './plan-revocation.ts'

const ids = ['a1', 'b2', 'c3']
const role = fc.constantFrom('admin', 'write', 'read', 'helpdesk', 'installer')
const cased = fc.constantFrom(...ids, ...ids.map((id) => id.toUpperCase()))
const privilege: fc.Arbitrary<WirePrivilege> = fc.oneof(
  fc.record({ scope: fc.constant('org'), role }),
  fc.record({ scope: fc.constant('site'), role, site_id: cased }),
  fc.record({ scope: fc.constant('sitegroup'), role, sitegroup_id: cased }),
)
const holders = fc.array(fc.record({ name: fc.string(), privileges: fc.array(privilege) }))
const place = fc.oneof(fc.record({ siteId: fc.constantFrom(...ids) }), fc.record({ groupId: fc.constantFrom(...ids) }))

describe('planRevocation', () => {
  it('revokes the privileges in the place, in upper or lower case, and no others', () => {
    fc.assert(
      fc.property(holders, place, (some, gone) => {
        const changes = planRevocation(some, gone)
        for (const { holder, before, left } of changes) {
          expect(before).toEqual(holder.privileges)
          // Revocation adds no privilege: the remaining ones were there before, in the same order.
          expect(before.filter((one) => left.includes(one))).toEqual(left)
          expect(left.length).toBeLessThan(before.length)
          expect(planRevocation([{ privileges: left }], gone)).toEqual([])
        }
        const untouched = some.filter((holder) => !changes.some((change) => change.holder === holder))
        expect(planRevocation(untouched, gone)).toEqual([])
      }),
    )
  })

  it('distinguishes a site from a group with the same id', () => {
    const privileges: WirePrivilege[] = [
      { scope: 'site', role: 'read', site_id: 'A1' },
      { scope: 'sitegroup', role: 'read', sitegroup_id: 'a1' },
    ]
    expect(planRevocation([{ privileges }], { siteId: 'a1' })[0]?.left).toEqual([privileges[1]])
    expect(planRevocation([{ privileges }], { groupId: 'a1' })[0]?.left).toEqual([privileges[0]])
  })
})
