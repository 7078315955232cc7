import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decideAdmission } from './decide-admission.ts'

const asked = fc.record({ inviteCode: fc.option(fc.string()), isInvited: fc.boolean() })

it('admits everyone if registration is open, and only invited people if it is closed', () => {
  fc.assert(
    fc.property(asked, fc.array(fc.string()), (request, inviteCodes) => {
      expect(decideAdmission({ registration: 'open', inviteCodes }, request)).toBe('admitted')
      const outcome = request.isInvited ? 'admitted' : 'closed'
      expect(decideAdmission({ registration: 'closed', inviteCodes }, request)).toBe(outcome)
    }),
  )
})

it('admits people with a code or an invitation if registration is by invitation', () => {
  fc.assert(
    fc.property(asked, fc.array(fc.string()), ({ inviteCode, isInvited }, inviteCodes) => {
      const knows = inviteCode !== null && inviteCodes.includes(inviteCode)
      expect(decideAdmission({ registration: 'invite', inviteCodes }, { inviteCode, isInvited })).toBe(
        isInvited || knows ? 'admitted' : 'not_invited',
      )
    }),
  )
})
