import { expect, test } from 'vitest'
import fc from 'fast-check'
import { type AwaitedPart, continuedUptimeS, hasReturned } from './returns.ts'

const MIN_MS = 60_000
const awaited: AwaitedPart = { callId: 1, number: 2, uptimeS: 1000, sinceMs: 0, wasAbsent: false }

interface Seen {
  readonly uptimeS: number | null
  readonly isThere?: boolean
  readonly wasAbsent?: boolean
}

function facts(uptimeS: number | null, isPresent = true) {
  const member = { member: 2, isPresent, isMaster: false, isAnswering: false }
  return {
    mac: '02aabbccddee',
    model: 'EX4100-48P',
    serial: 'S',
    version: '1.0.0',
    type: 'switch' as const,
    members: [{ ...member, serial: 'S2', model: 'EX4100-48P', mac: '', version: '1.0.0' }],
    nodes: [],
    uptimeS: null,
    partUptimes: new Map(uptimeS === null ? [] : [[2, uptimeS]]),
    backup: null,
  }
}

test.each([
  ['that is up for longer than before', { uptimeS: 1060 }, false],
  ['that has been up for less time than has passed', { uptimeS: 20 }, true],
  ['that is absent', { uptimeS: 20, isThere: false }, false],
  ['that was absent for a moment, but did not boot', { uptimeS: 1060, wasAbsent: true }, false],
  ['that does not say for how long it has been up, and was never away', { uptimeS: null }, false],
  ['that does not say for how long it has been up, and was away', { uptimeS: null, wasAbsent: true }, true],
] satisfies [string, Seen, boolean][])('a part %s', (_, seen: Seen, expected) => {
  const { uptimeS, isThere = true, wasAbsent = false } = seen
  expect(hasReturned({ ...awaited, wasAbsent }, facts(uptimeS, isThere), MIN_MS)).toBe(expected)
})

test('a part that booted just before its restart was requested is known by the time that it was away', () => {
  expect(hasReturned({ ...awaited, uptimeS: 30 }, facts(40), 2 * MIN_MS)).toBe(true)
})

test('a part that has not booted has never returned, however late its answer and however slow its clock', () => {
  const properties = {
    beforeS: fc.integer({ min: 0, max: 1e8 }),
    elapsedMs: fc.integer({ min: 0, max: 30 * MIN_MS }),
    lateS: fc.integer({ min: 0, max: 60 }),
  }
  fc.assert(
    fc.property(fc.record(properties), ({ beforeS, elapsedMs, lateS }) => {
      const nowS = Math.floor(beforeS + (elapsedMs / 1000) * 0.999) + lateS
      expect(hasReturned({ ...awaited, uptimeS: beforeS }, facts(nowS), elapsedMs)).toBe(false)
    }),
  )
})

/** Returns the uptimes of a device with members, by their number. */
function uptimesOf(...uptimes: readonly (number | null)[]) {
  const partUptimes = new Map(uptimes.flatMap((uptimeS, part) => (uptimeS === null ? [] : [[part, uptimeS]])))
  return { uptimeS: partUptimes.size === 0 ? null : Math.max(...partUptimes.values()), partUptimes }
}

test.each([
  ['continues with its parts', [900, 500], [960, 560], 960],
  ['continues while the oldest part is away', [900, 500], [null, 560], 960],
  ['continues when the oldest part is back', [900, 500], [10, 560], 960],
  ['begins when all parts have restarted', [900, 500], [10, 20], 20],
  ['begins when the others are not there', [900, 500], [10, null], 10],
  ['is unknown where no part says so', [900, 500], [null, null], null],
] as const)('the uptime of a device %s', (_, before, after, expected) => {
  expect(continuedUptimeS(uptimesOf(...before), uptimesOf(...after), 60)).toBe(expected)
})
