import { describe, expect, it } from 'vitest'
import { nextTurn } from '../queues/next-turn.ts'
import { writeParts } from './write-parts.ts'

/** A connection that executes one part after the other, each in a turn of its own. */
function connect(failing: ReadonlySet<number> = new Set()) {
  const done: string[] = []
  let last: Promise<unknown> = Promise.resolve()
  async function execute(part: number): Promise<void> {
    await nextTurn()
    if (failing.has(part)) throw new Error(`${part} fails`)
    done.push(`written ${part}`)
  }
  function write(part: number): Promise<void> {
    done.push(`encoded ${part}`)
    const written = last.then(
      () => execute(part),
      () => execute(part),
    )
    last = written
    return written
  }
  return { done, write }
}

describe('writeParts', () => {
  it('encodes each part while the one before it is written', async () => {
    const { done, write } = connect()
    await writeParts([1, 2, 3], write)
    expect(done).toEqual(['encoded 1', 'encoded 2', 'written 1', 'encoded 3', 'written 2', 'written 3'])
  })

  it('makes a part only when it is encoded', async () => {
    const { done, write } = connect()
    function* parts() {
      for (const part of [1, 2, 3]) {
        done.push(`made ${part}`)
        yield part
      }
    }
    await writeParts(parts(), write)
    expect(done.indexOf('made 3')).toBeGreaterThan(done.indexOf('written 1'))
  })

  it('begins nothing after an error, and ends once what it has begun has ended', async () => {
    const { done, write } = connect(new Set([1]))
    await expect(writeParts([1, 2, 3], write)).rejects.toThrow('1 fails')
    expect(done).toEqual(['encoded 1', 'encoded 2', 'written 2'])
  })

  it('waits for what it has begun if a part cannot be made or encoded', async () => {
    const unmade = connect()
    function* parts() {
      yield* [1, 2]
      throw new Error('no more')
    }
    await expect(writeParts(parts(), unmade.write)).rejects.toThrow('no more')
    expect(unmade.done).toContain('written 2')
    const unencoded = connect()
    function write(part: number): Promise<void> {
      if (part === 3) throw new Error('no text')
      return unencoded.write(part)
    }
    await expect(writeParts([1, 2, 3], write)).rejects.toThrow('no text')
    expect(unencoded.done).toContain('written 2')
  })

  it('throws the first of two errors, and that of the last part', async () => {
    await expect(writeParts([1, 2, 3], connect(new Set([1, 2])).write)).rejects.toThrow('1 fails')
    await expect(writeParts([1, 2, 3], connect(new Set([3])).write)).rejects.toThrow('3 fails')
  })

  it('writes nothing without parts', async () => {
    await expect(writeParts([], connect().write)).resolves.toBeUndefined()
  })
})
