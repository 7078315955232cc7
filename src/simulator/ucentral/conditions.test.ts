import { describe, expect, it } from 'vitest'
import { createConditions } from './conditions.ts'

describe('createConditions', () => {
  it('resolves once the condition holds, and checks only after changes', async () => {
    const conditions = createConditions()
    let looks = 0
    let value = 0
    const reached = conditions.until(() => (looks += 1) > 0 && value === 2, 5000)
    value = 2
    for (let i = 0; i < 100; i++) conditions.changed()
    await reached
    expect(looks).toBe(2)
  })

  it('rejects after the time limit, and when `end` is called', async () => {
    const conditions = createConditions()
    await expect(conditions.until(() => false, 1)).rejects.toThrow('not within 1 ms')
    const ended = expect(conditions.until(() => false, 5000)).rejects.toThrow('stopped')
    conditions.end('stopped')
    await ended
  })
})
