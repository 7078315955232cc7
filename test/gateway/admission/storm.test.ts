import { expect, test } from 'vitest'
import { type Grace, updateGrace } from '../../../src/devices/sessions/decide-grace.ts'
import { Admission } from '../../../src/gateway/admission/admission.ts'
import { defaultLimits as gatewayLimits } from '../../../src/gateway/limits.ts'
import { defaultLimits } from '../../../src/gateway/ucentral/limits.ts'
import { reconnectDelayMs } from '../../../src/simulator/pace.ts'

const STEP_MS = 10
const DEVICES = 10_000
/** The time from the start of the TLS handshake to the session. */
const HANDSHAKE_MS = 200

interface Client {
  readonly type: 'ap' | 'switch'
  readonly address: string
  failures: number
}

interface Outcome {
  readonly reconnected99S: number
  readonly reconnectedAllS: number
  /** The time at which the first device was reported as disconnected, if any was. */
  readonly reportedDownS: number | null
}

/** Simulates a whole fleet from the moment it loses its gateway, which is down for `outageMs`. */
function simulateOutage(typeOf: (index: number) => Client['type'], networks: number, outageMs: number): Outcome {
  const admission = new Admission<Client>(defaultLimits.admission)
  /** The clients that attempt to connect, by time. */
  const tries = new Map<number, Client[]>()
  const schedule = (client: Client, nowMs: number): void => {
    client.failures += 1
    const atMs = nowMs + reconnectDelayMs(client.type, client.failures, 1)
    const others = tries.get(atMs)
    if (others === undefined) tries.set(atMs, [client])
    else others.push(client)
  }
  for (let index = 0; index < DEVICES; index += 1)
    schedule({ type: typeOf(index), address: `10.0.0.${index % networks}`, failures: 0 }, 0)
  const handshakes: { readonly client: Client; readonly endsMs: number }[] = []
  const reconnects: number[] = []
  let grace: Grace | null = null
  let reportedDownS: number | null = null
  for (let nowMs = 0; reconnects.length < DEVICES; nowMs += STEP_MS) {
    for (const client of tries.get(nowMs) ?? []) {
      if (nowMs < outageMs) schedule(client, nowMs)
      else admission.add(client, client.address, nowMs)
    }
    tries.delete(nowMs)
    while (handshakes[0] !== undefined && handshakes[0].endsMs <= nowMs) {
      const { client } = handshakes.shift() ?? handshakes[0]
      admission.leave(client.address)
      reconnects.push(nowMs)
    }
    const { entered, refused } = admission.decide(nowMs)
    for (const client of refused) schedule(client, nowMs)
    for (const client of entered) handshakes.push({ client, endsMs: nowMs + HANDSHAKE_MS })
    if (nowMs < outageMs || (nowMs - outageMs) % gatewayLimits.sweepMs !== 0) continue
    grace = updateGrace(grace, { lost: DEVICES - reconnects.length, outageMs: nowMs }, nowMs)
    if (grace?.isOver === true) reportedDownS ??= nowMs / 1000
  }
  const atS = (share: number): number => ((reconnects[Math.ceil(DEVICES * share) - 1] ?? Infinity) - outageMs) / 1000
  return { reconnected99S: atS(0.99), reconnectedAllS: atS(1), reportedDownS }
}

test.each([
  { fleet: 'access points', networks: 1, typeOf: () => 'ap' as const },
  { fleet: 'access points', networks: 50, typeOf: () => 'ap' as const },
  { fleet: 'switches', networks: 1, typeOf: () => 'switch' as const },
  { fleet: 'both', networks: 50, typeOf: (index: number) => (index % 5 === 0 ? ('switch' as const) : ('ap' as const)) },
])(
  '99 % of 10,000 $fleet behind $networks addresses reconnect within 40 s of a restart of 5 s, and none is reported as disconnected',
  ({ networks, typeOf }) => {
    const { reconnected99S, reportedDownS } = simulateOutage(typeOf, networks, 5000)
    expect(reconnected99S).toBeLessThan(40)
    expect(reportedDownS).toBeNull()
  },
)

test.each([10, 30, 60, 300, 3600])(
  'none of 10,000 access points is reported as disconnected after an outage of %d s',
  (outageS) => {
    const { reportedDownS, reconnectedAllS } = simulateOutage(() => 'ap', 50, outageS * 1000)
    expect(reportedDownS).toBeNull()
    expect(reconnectedAllS).toBeLessThan(600)
  },
)
