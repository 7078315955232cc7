import { expect } from 'vitest'
import type { TestClock } from '../test-clock.ts'
import { type Browser, codeAt } from './browser.ts'

export interface Enrolled {
  readonly secret: string
  readonly recoveryCodes: string[]
}

/** Enrolls a second factor in the browser's session, which uses up the code of this step. */
export async function enrolSecondFactor(browser: Browser, clock: TestClock): Promise<Enrolled> {
  const { body: offer } = await browser.call('GET', '/self/two_factor/token')
  const secret: string = offer.two_factor_secret
  const answer = await browser.call('POST', '/self/two_factor/verify', { two_factor: codeAt(secret, clock.now()) })
  expect(answer.status).toBe(200)
  return { secret, recoveryCodes: answer.body.recovery_codes }
}
