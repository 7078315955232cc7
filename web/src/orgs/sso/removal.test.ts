import { expect, it } from 'vitest'
import { effectText } from '../../display/forms/effect.ts'
import { planRemoval, removalEffect } from './removal.ts'

const admins = [
  { email: 'Ada@corp.example', via_sso: true },
  { email: 'bob@corp.example', via_sso: true },
  { email: 'local@corp.example', via_sso: false },
]

it('finds the people with these addresses, once each, and no one with a password', () => {
  expect(planRemoval('ada@corp.example, ADA@corp.example\nlocal@corp.example;x@corp.example', admins)).toEqual({
    emails: ['ada@corp.example', 'local@corp.example', 'x@corp.example'],
    members: ['ada@corp.example'],
    unknown: ['local@corp.example', 'x@corp.example'],
  })
  expect(planRemoval('  ', admins).emails).toEqual([])
})

it('states whom a removal concerns', () => {
  expect(effectText(removalEffect(planRemoval('ada@corp.example local@corp.example', admins), 'Corp'))).toBe(
    'Removes up to 1 account (ada@corp.example). They are signed out at once. People whom Corp still names get a new account at the next sign-in. Not signed in by an identity provider: local@corp.example.',
  )
  expect(effectText(removalEffect(planRemoval('x@corp.example', admins), 'Corp'))).toContain('Removes 0 accounts.')
})
