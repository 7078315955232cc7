import { describe, expect, it } from 'vitest'
import type { SiteVersion } from '../../access/tables.ts'
import { type TakeSiteTurn, type WrittenSite, createSiteTurns } from './site-turns.ts'

const siteAt = (version: number, id = 'site', orgId = 'org'): WrittenSite => ({
  id,
  orgId,
  name: `name ${version}`,
  timezone: 'UTC',
  doc: {},
  createdAt: new Date(0),
  modifiedAt: new Date(version),
  version: String(version),
  docBytes: 2,
})

/** A change that waits until it is ended. */
function heldChange() {
  const { promise, resolve, reject } = Promise.withResolvers<WrittenSite | undefined>()
  const got: SiteVersion[] = []
  const change = (latest: SiteVersion) => {
    got.push(latest)
    return promise
  }
  return { change, got, end: resolve, fail: reject }
}

/** Returns the version with which the next change of a site begins. */
async function versionOf(take: TakeSiteTurn, id: string): Promise<string | undefined> {
  let version: string | undefined
  await take(siteAt(1, id), async (latest) => {
    version = latest.version
    return undefined
  })
  return version
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('changes of a site', () => {
  it('begin one after the other, each with what the one before has written', async () => {
    const take = createSiteTurns()
    const [first, second, third] = [heldChange(), heldChange(), heldChange()]
    const ends = [first, second, third].map(({ change }) => take(siteAt(1), change))
    await settle()
    expect([first.got, second.got, third.got]).toEqual([[siteAt(1)], [], []])
    first.end(siteAt(2))
    await settle()
    expect([second.got, third.got]).toEqual([[siteAt(2)], []])
    second.end(siteAt(3))
    await settle()
    third.end(siteAt(4))
    expect(third.got).toEqual([siteAt(3)])
    expect(await Promise.all(ends)).toEqual([siteAt(2), siteAt(3), siteAt(4)])
  })

  it('begin with what was found after one that has written nothing', async () => {
    const take = createSiteTurns()
    await take(siteAt(1), async () => siteAt(2))
    const [nothing, failure, next] = [heldChange(), heldChange(), heldChange()]
    const ends = Promise.allSettled([nothing, failure, next].map(({ change }) => take(siteAt(1), change)))
    nothing.end(undefined)
    failure.fail(new Error('lost'))
    next.end(undefined)
    expect((await ends).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect([nothing.got, failure.got, next.got]).toEqual([[siteAt(2)], [siteAt(1)], [siteAt(1)]])
  })

  it('begin with the later of what was found and what was written', async () => {
    const take = createSiteTurns()
    const got: SiteVersion[] = []
    await take(siteAt(1), async () => siteAt(2))
    for (const found of [siteAt(1), siteAt(3), siteAt(1, 'site', 'other')])
      await take(found, async (latest) => {
        got.push(latest)
        return siteAt(2)
      })
    expect(got).toEqual([siteAt(2), siteAt(3), siteAt(1, 'site', 'other')])
  })

  it('of other sites do not wait', async () => {
    const take = createSiteTurns()
    const first = heldChange()
    const end = take(siteAt(1), first.change)
    expect(await take(siteAt(5, 'other'), async (latest) => ({ ...latest, docBytes: 2 }))).toEqual(siteAt(5, 'other'))
    first.end(undefined)
    expect(await end).toBeUndefined()
  })

  it('do not remember a large site', async () => {
    const take = createSiteTurns()
    await take(siteAt(1), async () => ({ ...siteAt(2), docBytes: 16 * 1024 + 1 }))
    expect(await versionOf(take, 'site')).toBe('1')
  })

  it('remember a hundred sites', async () => {
    const take = createSiteTurns()
    for (let site = 0; site <= 100; site += 1)
      await take(siteAt(1, `site ${site}`), async () => siteAt(2, `site ${site}`))
    expect([await versionOf(take, 'site 0'), await versionOf(take, 'site 100')]).toEqual(['1', '2'])
  })
})
