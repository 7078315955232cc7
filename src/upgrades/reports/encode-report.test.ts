import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { encodeCsv, encodeJson } from './encode-report.ts'

const DEVICES = 100_000
/** A piece, the buffer of the stream, and one more. */
const MAX_AHEAD = 2000

/** Yields rows of about the size of a device's, and counts them. */
function countedRows() {
  const counted = { read: 0 }
  async function* rows() {
    while (counted.read < DEVICES) {
      counted.read += 1
      yield { mac: counted.read.toString(16).padStart(12, '0'), reason: 'x'.repeat(60), attempts: 1 }
    }
  }
  return { counted, rows }
}

describe('the report of 100,000 devices', () => {
  it.each([
    ['JSON', (rows: AsyncIterable<{ mac: string }>) => encodeJson({ total: DEVICES }, { name: 'devices', rows })],
    ['CSV', (rows: AsyncIterable<{ mac: string }>) => encodeCsv(['mac'], rows)],
  ])('reads no more of them than are consumed, as %s', async (_, encode) => {
    const { counted, rows } = countedRows()
    let [taken, ahead] = [0, 0]
    for await (const chunk of encode(rows()) as AsyncIterable<Buffer>) {
      // A slow reader: the stream has time to read ahead.
      if (taken % 10_000 < 200) for (let turn = 0; turn < 5; turn += 1) await setImmediate()
      ahead = Math.max(ahead, counted.read - taken)
      taken += chunk.toString().match(/[0-9a-f]{12}/g)?.length ?? 0
    }
    expect([taken, counted.read]).toEqual([DEVICES, DEVICES])
    expect(ahead).toBeLessThan(MAX_AHEAD)
  })
})
