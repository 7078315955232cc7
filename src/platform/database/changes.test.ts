import { expect, test } from 'vitest'
import { MAX_NAMED, endCounting, noteChanges, parseChanges } from './changes.ts'
import { createWakes, publishWakes, runCollectingWakes } from './wakes.ts'

/** Returns the changes that watchers hear of a transaction. */
async function heardOf(work: (tx: object) => void) {
  const wakes = createWakes()
  const heard: string[] = []
  wakes.on('changes', (hints) => heard.push(...hints))
  const { wakes: collected } = await runCollectingWakes(async (collect) => {
    const tx = {}
    collect(tx)
    work(tx)
    endCounting(tx)
  })
  publishWakes(wakes, collected)
  return heard.map(parseChanges)
}

test('watchers hear of the objects of each organization together', async () => {
  const heard = await heardOf((tx) => {
    noteChanges(tx, 'device', [
      { orgId: 'a', id: '1' },
      { orgId: 'b', id: '2' },
      { orgId: 'a', id: 'site/3' },
    ])
    noteChanges(tx, 'device', [])
    noteChanges(tx, 'alarm', [{ orgId: 'a', id: '4' }])
  })
  expect(heard).toEqual([
    { kind: 'device', orgId: 'a', ids: ['1', 'site/3'] },
    { kind: 'device', orgId: 'b', ids: ['2'] },
    { kind: 'alarm', orgId: 'a', ids: ['4'] },
  ])
})

test('objects of a kind are not named beyond the limit', async () => {
  const objects = Array.from({ length: MAX_NAMED }, (_, index) => ({ orgId: 'a', id: String(index) }))
  const heard = await heardOf((tx) => {
    noteChanges(tx, 'device', objects)
    noteChanges(tx, 'device', [{ orgId: 'a', id: 'more' }])
    noteChanges(tx, 'device_stats', [{ orgId: 'a', id: '1' }])
  })
  expect(heard.map(({ ids }) => ids.length)).toEqual([MAX_NAMED, 0, 1])
})
