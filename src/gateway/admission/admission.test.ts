import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Admission, type AdmissionLimits } from './admission.ts'

const plenty: AdmissionLimits = { perSecond: 1000, burst: 1000, handshakes: 1000, waitMs: 10_000 }

/** Each connection is named after the address that it comes from. */
function open(limits: Partial<AdmissionLimits>) {
  const admission = new Admission<string>({ ...plenty, ...limits })
  return {
    admission,
    /** Returns the decision that follows the arrival of these connections. */
    arrive: (addresses: readonly string[], atMs = 0) => {
      for (const address of addresses) admission.add(address, address, atMs)
      return admission.decide(atMs)
    },
  }
}

const times = (count: number, address: string): string[] => Array.from({ length: count }, () => address)

describe('Admission', () => {
  test('admits a burst, then the rate; the others wait', () => {
    const { admission, arrive } = open({ perSecond: 10, burst: 3 })
    expect(arrive(['a', 'a', 'b', 'c', 'a'])).toEqual({ entered: ['a', 'b', 'c'], refused: [] })
    expect(admission.waiting).toBe(2)
    expect(admission.decide(99).entered).toEqual([])
    expect(admission.decide(100).entered).toEqual(['a'])
    expect(admission.decide(10_000)).toEqual({ entered: ['a'], refused: [] })
    expect(admission.waiting).toBe(0)
  })

  test('refuses a connection when it has waited for the maximum time', () => {
    const { admission, arrive } = open({ perSecond: 1, burst: 1, waitMs: 2000, handshakes: 2 })
    expect(arrive(['a', 'a', 'a'])).toEqual({ entered: ['a'], refused: [] })
    expect(admission.decide(2000)).toEqual({ entered: [], refused: [] })
    expect(admission.decide(2001)).toEqual({ entered: [], refused: ['a', 'a'] })
  })

  test('refuses the newest connection of the network with the most waiting connections if too many wait', () => {
    const { admission, arrive } = open({ perSecond: 1, burst: 1, waitMs: 4000 })
    const all = [...times(4, 'a'), 'b', 'c']
    expect(arrive(all)).toEqual({ entered: ['a'], refused: ['a'] })
    expect(arrive(['d'])).toEqual({ entered: [], refused: ['a'] })
    expect(admission.waiting).toBe(4)
    expect(admission.decide(1000).entered).toEqual(['b'])
  })

  test('gives a single network the whole rate', () => {
    const { admission, arrive } = open({ perSecond: 300, burst: 600, waitMs: 15_000, handshakes: 100_000 })
    let entered = arrive(times(3000, 'a')).entered.length
    expect(entered).toBe(600)
    for (let at = 10; at <= 8000; at += 10) entered += admission.decide(at).entered.length
    expect(entered).toBe(3000)
  })

  test.each([3, 50])('admits a newcomer with the next token while %d others always wait', (noisy) => {
    const { admission, arrive } = open({ perSecond: 300, burst: 600, waitMs: 15_000, handshakes: 100_000 })
    for (let at = 0; at < 20_000; at += 10) {
      for (let one = 0; one < noisy; one += 1)
        for (const address of times(5, `10.0.0.${one}`)) admission.add(address, address, at)
      const newcomer = `192.0.2.${at}`
      expect(arrive([newcomer], at).entered).toContain(newcomer)
    }
  })

  test('reserves handshakes for others if one network never finishes its own', () => {
    const { admission, arrive } = open({ handshakes: 4 })
    expect(arrive(times(4, 'a')).entered).toEqual(['a', 'a'])
    expect(arrive(['b', 'b']).entered).toEqual(['b'])
    expect(arrive(['c', 'd']).entered).toEqual(['c'])
    admission.leave('a')
    expect(admission.decide(0).entered).toEqual(['d'])
  })

  test('frees the places of connections that have left', () => {
    const { admission, arrive } = open({ handshakes: 200 })
    for (let round = 0; round < 3; round += 1) {
      expect(arrive(times(100, 'a'), round * 10_000).entered).toHaveLength(100)
      for (const address of times(100, 'a')) admission.leave(address)
    }
    admission.leave('nobody')
    expect(arrive(times(100, 'b'), 40_000).entered).toHaveLength(100)
  })

  test('admits no more than the caller asks for; the others keep their order, and lack no place', () => {
    const { admission } = open({ handshakes: 8 })
    const addresses = { first: 'a', second: 'b', third: 'a' }
    for (const [connection, address] of Object.entries(addresses)) admission.add(connection, address, 0)
    expect(admission.decide(0, 0).entered).toEqual([])
    expect(admission.lacksPlaces).toBe(false)
    expect(admission.decide(0, 2).entered).toEqual(['first', 'second'])
    expect(admission.decide(0, 2).entered).toEqual(['third'])
  })

  test('lacks places while only networks wait that have as many handshakes as are free', () => {
    const { admission, arrive } = open({ handshakes: 4 })
    expect(arrive(times(3, 'a')).entered).toEqual(['a', 'a'])
    expect(admission.lacksPlaces).toBe(true)
    admission.leave('a')
    expect(admission.lacksPlaces).toBe(false)
  })

  test('treats the addresses of one /64 as one', () => {
    const { admission, arrive } = open({ handshakes: 4 })
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1']
    expect(arrive(addresses).entered).toEqual(['2001:db8::1', '2001:db8:0:1::1', '2001:db8::2'])
    admission.leave('2001:db8::1')
    expect(admission.decide(0).entered).toEqual(['2001:db8::3'])
  })
})

describe('Admission, for any sequence of connections', () => {
  const limits = { perSecond: 20, burst: 5, handshakes: 4, waitMs: 1000 }
  const steps = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 5000 }),
      network: fc.integer({ min: 0, max: 6 }),
      arrivals: fc.integer({ min: 0, max: 12 }),
      leaves: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 100 },
  )

  test('decides each connection once, within its time, and limits waiting connections, admissions and handshakes', () => {
    fc.assert(
      fc.property(steps, (unordered) => {
        // The clock of the gateway is monotonic.
        const all = unordered.toSorted((a, b) => a.at - b.at)
        const admission = new Admission<{ id: number; address: string; atMs: number }>(limits)
        const open = new Set<number>()
        const underWay: string[] = []
        let ids = 0
        let entered = 0
        let forwardMs = 0
        let lastMs = all[0]?.at ?? 0
        for (const { at, network, arrivals, leaves } of all) {
          forwardMs += Math.max(0, at - lastMs)
          lastMs = at
          const address = `10.0.0.${network}`
          for (let count = 0; count < arrivals; count += 1) {
            open.add((ids += 1))
            admission.add({ id: ids, address, atMs: at }, address, at)
          }
          for (const left of underWay.splice(0, leaves)) admission.leave(left)
          const decision = admission.decide(at)
          for (const { id } of [...decision.entered, ...decision.refused]) expect(open.delete(id)).toBe(true)
          for (const one of decision.entered) {
            expect(at - one.atMs).toBeLessThanOrEqual(limits.waitMs)
            underWay.push(one.address)
          }
          entered += decision.entered.length
          expect(admission.waiting).toBe(open.size)
          expect(open.size).toBeLessThanOrEqual(20)
          expect(underWay.length).toBeLessThanOrEqual(limits.handshakes)
          expect(entered).toBeLessThanOrEqual(limits.burst + (forwardMs * limits.perSecond) / 1000 + 1e-6)
        }
      }),
    )
  })
})
