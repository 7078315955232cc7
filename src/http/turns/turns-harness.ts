import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { vi } from 'vitest'
import { createFairTurns } from './fair-turns.ts'
import type { Requester } from './lanes.ts'

export const requester = (account: string, requestKind = 'GET /things'): Requester => ({
  account,
  network: '192.0.2.1',
  requestKind,
  kind: 'read',
  bodyBytes: 0,
})

/**
 * Creates turns with a thread that works only when the test says so. The timers must be fake.
 * @param share The part of its busy time in which the thread gets a processor.
 */
export function setUp({ share = 1 } = {}) {
  let cpuMs = 0
  const clocks = { now: () => 0, cpuMs: () => cpuMs, busyMs: () => cpuMs / share }
  const turns = createFairTurns({ maxInWork: 100, ...clocks, turnMs: 100 })
  const begun: string[] = []
  const enter = async (name: string, who: Requester) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    const entered = turns.enter(who, response).then(() => begun.push(name))
    await vi.advanceTimersByTimeAsync(0)
    const close = (): void => {
      response.emit('prefinish')
      response.emit('close')
    }
    return { response, entered, close }
  }
  const work = (ms: number) => (cpuMs += ms)
  const spend = async (account: string, ms: number): Promise<void> => {
    const { close } = await enter(account, requester(account))
    work(ms)
    close()
    await vi.advanceTimersByTimeAsync(1000)
    begun.length = 0
  }
  return {
    turns,
    begun,
    enter,
    work,
    spend,
    /** Uses the thread by requests that cost 25 ms each. */
    becomeHeavy: async (account: string) => {
      for (let times = 0; times < 40; times += 1) await spend(account, 25)
    },
  }
}
