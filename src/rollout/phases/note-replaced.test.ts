import { expect, test } from 'vitest'
import { noteReplaced } from './note-replaced.ts'

const units = 'routers'
const pair = (index: number) => ({ absent: `a${index}`, online: `b${index}` })
const text = (phase: number, pairs: string) =>
  `connected ${units} have taken the places of absent ones in phase ${phase}: ${pairs}`

test('each phase has one note, which names the first pairs and counts the others', () => {
  const other = { mac: 'c', reason: 'skipped' }
  const first = noteReplaced([other], { phase: 1, units }, [pair(1)])
  const second = noteReplaced(first, { phase: 2, units }, [pair(2)])
  const [, third, fourth] = noteReplaced(second, { phase: 1, units }, [pair(3)])
  expect([other, third?.reason, fourth?.reason]).toEqual([other, text(2, 'b2 for a2'), text(1, 'b1 for a1, b3 for a3')])
  const pairs = Array.from({ length: 30 }, (_, index) => pair(index))
  const [many] = noteReplaced(noteReplaced([], { phase: 1, units }, pairs), { phase: 1, units }, pairs)
  const named = pairs.slice(0, 20).map(({ absent, online }) => `${online} for ${absent}`)
  expect(many?.reason).toBe(text(1, `${named.join(', ')} and 40 more`))
  expect(many?.places?.named).toHaveLength(20)
})
