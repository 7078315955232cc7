import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { createDownloadPlaces } from './download-places.ts'

const ticketOf = (commandId: number) => ({ orgId: 'org', imageId: 'image', commandId: String(commandId) })

function setUp(atOnce: number, waitMs = 60_000) {
  const onRefused = vi.fn<() => void>()
  const places = createDownloadPlaces({ atOnce, waitMs }, onRefused)
  return { onRefused, begin: (command: number) => places.within(ticketOf(command), async () => new PassThrough()) }
}

async function end(body: Promise<{ destroy(): unknown }>): Promise<void> {
  const stream = await body
  stream.destroy()
}

test('a request beyond those that may wait is refused at once, and the others get their turns in order', async () => {
  const { onRefused, begin } = setUp(1)
  const first = await begin(0)
  const begun: number[] = []
  const waiting = Array.from({ length: 10_000 }, (_, index) =>
    begin(index + 1).then((body) => {
      begun.push(index + 1)
      return body
    }),
  )
  await expect(begin(10_001)).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 10 })
  expect(onRefused).toHaveBeenCalledTimes(1)
  first.destroy()
  for (const body of waiting) await end(body)
  expect(begun).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1))
  await end(begin(1))
  expect(onRefused).toHaveBeenCalledTimes(1)
})

test('a request that has waited for too long is refused, and its command may ask again', async () => {
  const { onRefused, begin } = setUp(1, 1)
  const first = await begin(0)
  for (let round = 0; round < 5; round += 1) await expect(begin(1)).rejects.toMatchObject({ code: 'unavailable' })
  expect(onRefused).toHaveBeenCalledTimes(5)
  first.destroy()
  await end(begin(1))
})

test('one command takes four places, also while it waits, and the server has room for others then', async () => {
  const { onRefused, begin } = setUp(2)
  const bodies = [1, 1, 1, 1].map(begin)
  await expect(begin(1)).rejects.toMatchObject({ code: 'rate_limited' })
  for (const body of bodies) await end(body)
  await end(begin(1))
  expect(onRefused).not.toHaveBeenCalled()
})

test('a download that fails to begin leaves its place', async () => {
  const places = createDownloadPlaces({ atOnce: 1, waitMs: 60_000 }, () => undefined)
  const failing = () => places.within(ticketOf(1), () => Promise.reject(new Error('no image')))
  for (let round = 0; round < 5; round += 1) await expect(failing()).rejects.toThrow('no image')
  await end(places.within(ticketOf(1), async () => new PassThrough()))
})
