import { expect, test } from 'vitest'
import { type Grace, updateGrace } from '../../src/devices/sessions/decide-grace.ts'
import { Admission } from '../../src/gateway/admission.ts'
import { defaultLimits as gatewayLimits } from '../../src/gateway/limits.ts'
import { defaultLimits } from '../../src/gateway/ucentral/limits.ts'
import { reconnectDelayMs } from '../../src/simulator/pace.ts'

const STEP_MS = 10
const DEVICES = 10_000
/** From the beginning of TLS to the session. */
const HANDSHAKE_MS = 200

interface Client {
  readonly type: 'ap' | 'switch'
  readonly address: string
  failures: number
}

interface Story {
  readonly back99S: number
  readonly allBackS: number
  /** When the first device was called down, if any was. */
  readonly calledDownS: number | null
}

/** What a whole fleet goes through from the moment it loses its gateway, which is away for a while, at once. */
function tellStory(typeOf: (index: number) => Client['type'], networks: number, outageMs: number): Story {
  const admission = new Admission<Client>(defaultLimits.admission)
  /** Who tries when. */
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
  const back: number[] = []
  let grace: Grace | null = null
  let calledDownS: number | null = null
  for (let nowMs = 0; back.length < DEVICES; nowMs += STEP_MS) {
    for (const client of tries.get(nowMs) ?? []) {
      if (nowMs < outageMs) schedule(client, nowMs)
      else admission.add(client, client.address, nowMs)
    }
    tries.delete(nowMs)
    while (handshakes[0] !== undefined && handshakes[0].endsMs <= nowMs) {
      const { client } = handshakes.shift() ?? handshakes[0]
      admission.leave(client.address)
      back.push(nowMs)
    }
    const { entered, refused } = admission.decide(nowMs)
    for (const client of refused) schedule(client, nowMs)
    for (const client of entered) handshakes.push({ client, endsMs: nowMs + HANDSHAKE_MS })
    if (nowMs < outageMs || (nowMs - outageMs) % gatewayLimits.sweepMs !== 0) continue
    grace = updateGrace(grace, { lost: DEVICES - back.length, outageMs: nowMs }, nowMs)
    if (grace?.isOver === true) calledDownS ??= nowMs / 1000
  }
  const atS = (share: number): number => ((back[Math.ceil(DEVICES * share) - 1] ?? Infinity) - outageMs) / 1000
  return { back99S: atS(0.99), allBackS: atS(1), calledDownS }
}

test.each([
  { fleet: 'access points', networks: 1, typeOf: () => 'ap' as const },
  { fleet: 'access points', networks: 50, typeOf: () => 'ap' as const },
  { fleet: 'switches', networks: 1, typeOf: () => 'switch' as const },
  { fleet: 'both', networks: 50, typeOf: (index: number) => (index % 5 === 0 ? ('switch' as const) : ('ap' as const)) },
])(
  '99 % of 10,000 $fleet behind $networks addresses are back 40 s after a restart of 5 s, and none is called down',
  ({ networks, typeOf }) => {
    const { back99S, calledDownS } = tellStory(typeOf, networks, 5000)
    expect(back99S).toBeLessThan(40)
    expect(calledDownS).toBeNull()
  },
)

test.each([10, 30, 60, 300, 3600])('none of 10,000 access points is called down after an outage of %d s', (outageS) => {
  const { calledDownS, allBackS } = tellStory(() => 'ap', 50, outageS * 1000)
  expect(calledDownS).toBeNull()
  expect(allBackS).toBeLessThan(600)
})
