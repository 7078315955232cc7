import { afterEach, describe, expect, it, vi } from 'vitest'
import { AppError } from '../platform/errors.ts'
import type { Privilege } from './principal.ts'
import { createRequestLimits } from './request-limits.ts'

const admin = { adminId: 'admin', privileges: [] }
const token = { ...admin, via: 'token', tokenId: 'token' } as const
const other = { ...admin, via: 'token', tokenId: 'other' } as const
const session = { ...admin, via: 'session', tokenId: null } as const
const basic = { ...admin, via: 'basic', tokenId: null } as const

const privilegeOf = (orgId: string): Privilege => ({
  orgId,
  orgName: '',
  scope: 'org',
  role: 'admin',
  siteId: null,
  sitegroupId: null,
  views: null,
  siteIds: 'all',
  policy: null,
})

function limitsOf(requestsPerHour: number, accountRequestsPerHour = 100) {
  return createRequestLimits({ requestsPerHour, accountRequestsPerHour })
}

describe('createRequestLimits', () => {
  afterEach(() => vi.useRealTimers())

  it('counts each token separately and refuses calls above the limit', async () => {
    const limits = limitsOf(2)
    await limits.take(token)
    await limits.take(token)
    const refusal = await limits.take(token).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(AppError)
    expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterS: 3600 })
    await limits.take(other)
    expect(await limits.usage(other)).toEqual({ requests: 1, requestLimit: 2, secondsLeft: 3600 })
  })

  it('refuses calls above the limit of all tokens of an account together', async () => {
    const limits = limitsOf(2, 3)
    for (const each of [token, token, other]) await limits.take(each)
    await expect(limits.take(other)).rejects.toThrow('No more than 3 calls an hour with all tokens of an account.')
    await limits.take(basic)
    const tokenOf = (orgId: string, tokenId: string) =>
      ({ via: 'org_token', tokenId, adminId: null, privileges: [privilegeOf(orgId)] }) as const
    for (const tokenId of ['a', 'b', 'c']) await limits.take(tokenOf('org', tokenId))
    await expect(limits.take(tokenOf('org', 'd'))).rejects.toMatchObject({ code: 'rate_limited' })
    await limits.take(tokenOf('stranger', 'e'))
  })

  it('counts the calls of sessions without limiting them, together with Basic of the same account', async () => {
    const limits = limitsOf(1)
    await limits.take(session)
    await limits.take(session)
    expect(await limits.usage(session)).toMatchObject({ requests: 2 })
    await expect(limits.take(basic)).rejects.toThrow('Too Many Request.')
  })

  it('starts again after an hour', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const limits = limitsOf(1)
    await limits.take(token)
    vi.setSystemTime(Date.now() + 3_599_500)
    await expect(limits.take(token)).rejects.toMatchObject({ retryAfterS: 1 })
    vi.setSystemTime(Date.now() + 500)
    expect(await limits.usage(token)).toMatchObject({ requests: 0 })
    await limits.take(token)
  })

  it('has no usage for callers without calls', async () => {
    expect(await limitsOf(7).usage(token)).toEqual({ requests: 0, requestLimit: 7, secondsLeft: 3600 })
  })
})
