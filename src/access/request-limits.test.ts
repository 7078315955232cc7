import { afterEach, describe, expect, it, vi } from 'vitest'
import { AppError } from '../platform/errors.ts'
import { createRequestLimits } from './request-limits.ts'

const token = { via: 'token', tokenId: 'token', adminId: 'admin' } as const
const other = { via: 'token', tokenId: 'other', adminId: 'admin' } as const
const session = { via: 'session', tokenId: null, adminId: 'admin' } as const
const basic = { via: 'basic', tokenId: null, adminId: 'admin' } as const

describe('createRequestLimits', () => {
  afterEach(() => vi.useRealTimers())

  it('counts each token separately and refuses calls above the limit', async () => {
    const limits = createRequestLimits(2)
    await limits.take(token)
    await limits.take(token)
    const refusal = await limits.take(token).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(AppError)
    expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterS: 3600 })
    await limits.take(other)
    expect(await limits.usage(other)).toEqual({ requests: 1, requestLimit: 2, secondsLeft: 3600 })
  })

  it('counts the calls of sessions without limiting them, together with Basic of the same account', async () => {
    const limits = createRequestLimits(1)
    await limits.take(session)
    await limits.take(session)
    expect(await limits.usage(session)).toMatchObject({ requests: 2 })
    await expect(limits.take(basic)).rejects.toThrow('Too Many Request.')
  })

  it('starts again after an hour', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const limits = createRequestLimits(1)
    await limits.take(token)
    vi.setSystemTime(Date.now() + 3_599_500)
    await expect(limits.take(token)).rejects.toMatchObject({ retryAfterS: 1 })
    vi.setSystemTime(Date.now() + 500)
    expect(await limits.usage(token)).toMatchObject({ requests: 0 })
    await limits.take(token)
  })

  it('has no usage for callers without calls', async () => {
    expect(await createRequestLimits(7).usage(token)).toEqual({ requests: 0, requestLimit: 7, secondsLeft: 3600 })
  })
})
