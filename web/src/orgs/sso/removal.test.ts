import { expect, it } from 'vitest'
import { planRemoval, removalText } from './removal.ts'

const admins = [
  { email: 'Ada@corp.example', via_sso: true },
  { email: 'bob@corp.example', via_sso: true },
  { email: 'local@corp.example', via_sso: false },
]

it('finds the people with these addresses, once each, and nobody with a password', () => {
  expect(planRemoval('ada@corp.example, ADA@corp.example\nlocal@corp.example;x@corp.example', admins)).toEqual({
    emails: ['ada@corp.example', 'local@corp.example', 'x@corp.example'],
    members: ['ada@corp.example'],
    unknown: ['local@corp.example', 'x@corp.example'],
  })
  expect(planRemoval('  ', admins).emails).toEqual([])
})

it('states whom a removal concerns', () => {
  expect(removalText(planRemoval('ada@corp.example x@corp.example', admins), 'Corp')).toBe(
    'Removes 1 account that Corp signs in: ada@corp.example. They are signed out at once. Whom the provider still names gets a new account at the next sign-in. Without an account: x@corp.example.',
  )
  expect(removalText(planRemoval('x@corp.example', admins), 'Corp')).toContain('Removes nobody')
})
