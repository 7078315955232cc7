import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { LinkHost } from '../protocol.ts'
import { createLostUpgrades } from './lost-upgrades.ts'
import type { Session } from './session.ts'
import { STATE_CALL_ID } from './telemetry.ts'

/** An access point that is back and may still execute one call, with the methods that it is called with. */
function comeBack(uptime: Session['uptime']) {
  const called: string[] = []
  const host = { now: () => 0, listLostCalls: () => Promise.resolve([{ callId: 1024 }]) }
  const lost = createLostUpgrades(host as unknown as LinkHost)
  const session = {
    ...{ deviceId: 'device', mac: '001122334455', uptime },
    ...{ isServed: true, hasAnsweredTelemetry: true, isPaused: false },
    call: (id: number) => called.push(id === STATE_CALL_ID ? 'state' : 'calls'),
  }
  lost.begin(session as unknown as Session, { platform: 'ap' } as Parameters<typeof lost.begin>[1])
  return { lost, called }
}

test.each([
  ['its state, and at the next look for the lost calls', 'awaited', [['state'], ['state', 'calls']]],
  ['the lost calls at once if it has reported its uptime', 'reported', [['calls'], ['calls']]],
] as const)('asks an access point for %s', async (_, uptime, expected) => {
  const { lost, called } = comeBack(uptime)
  await setImmediate()
  for (const calls of expected) {
    lost.look()
    expect(called).toEqual(calls)
  }
})
