import { expect, test } from 'vitest'
import { visitAll } from './visit-all.ts'

/** Occupies the processor like a visit. */
function work(ms: number): void {
  const startMs = performance.now()
  while (performance.now() - startMs < ms);
}

test('visits all, and lets others run in between', async () => {
  const visited: number[] = []
  const links = Array.from({ length: 1000 }, (_, index) => index)
  let turns = 0
  const others = setInterval(() => (turns += 1), 0)
  await visitAll(links, (link) => {
    visited.push(link)
    work(0.02)
  })
  clearInterval(others)
  expect(visited).toEqual(links)
  expect(turns).toBeGreaterThan(2)
})

test('skips links that end meanwhile', async () => {
  const links = new Set(Array.from({ length: 100 }, (_, index) => index))
  const visited: number[] = []
  await visitAll(links, (link) => {
    visited.push(link)
    links.delete(link + 1)
    work(0.1)
  })
  expect(visited).toEqual(Array.from({ length: 50 }, (_, index) => 2 * index))
})
