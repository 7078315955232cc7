import { expect, it } from 'vitest'
import { createKeptWidths } from './kept-widths.ts'

const lane = (webhookId: string, version = '1') => ({ webhookId, webhook: { version } })

it('keeps the width of a lane for its next lease, unless the webhook has changed', () => {
  const widths = createKeptWidths()
  for (const id of ['a', 'b']) widths.keep(lane(id), 5)
  expect([widths.take(lane('a')), widths.take(lane('a'))]).toEqual([5, 1])
  expect([widths.take(lane('b', '2')), widths.take(lane('b'))]).toEqual([1, 1])
})

it('drops the oldest of more than 10,000', () => {
  const widths = createKeptWidths()
  for (let count = 0; count <= 10_000; count += 1) widths.keep(lane(String(count)), 5)
  expect(['0', '1', '10000'].map((id) => widths.take(lane(id)))).toEqual([1, 5, 5])
})
