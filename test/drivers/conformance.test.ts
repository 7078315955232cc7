import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DriverCommand, DriverDevice } from '../../src/gateway/driver.ts'
import { ucentralDriver } from '../../src/gateway/ucentral/driver.ts'

const extension = { 'x-signalbox': { protocol: 1, methods: ['reboot'] } }
const device = fc.record<DriverDevice>({
  mac: fc.stringMatching(/^[0-9a-f]{12}$/),
  type: fc.constantFrom('ap', 'switch', 'gateway'),
  capabilities: fc.constantFrom({}, extension),
})
const uri = fc.stringMatching(/^[a-z0-9/_-]{1,80}$/).map((path) => `https://example.test/${path}`)
const command = fc.oneof<fc.Arbitrary<DriverCommand>[]>(
  fc.constant({ kind: 'restart' }),
  fc.integer({ min: 0, max: 9 }).map((member) => ({ kind: 'restart', member })),
  fc.constantFrom('node0' as const, 'node1' as const).map((node) => ({ kind: 'restart', node })),
  fc.record({ kind: fc.constant('upgrade' as const), uri, localCertificates: fc.boolean() }),
  fc.constantFrom('locate' as const, 'unlocate' as const).map((kind) => ({ kind })),
)

/** What every driver must do, whatever its protocol. */
describe.each([['ucentral', ucentralDriver]])('driver %s', (_, driver) => {
  test('encodes every command as a call with a bounded wait, or says why not', () => {
    fc.assert(
      fc.property(device, command, (to, order) => {
        const encoded = driver.encode(to, order)
        if (encoded.kind === 'rejected') {
          expect(encoded.code).not.toBe('')
          expect(encoded.text).not.toBe('')
          return
        }
        expect(encoded.timeoutMs).toBeGreaterThan(0)
        expect(encoded.timeoutMs).toBeLessThanOrEqual(3_600_000)
        // One unfragmented frame of a size that every known device takes.
        expect(Buffer.byteLength(JSON.stringify(encoded.call))).toBeLessThan(31 * 1024)
      }),
    )
  })

  test('restarts and upgrades a stock device', () => {
    fc.assert(
      fc.property(device, uri, (to, address) => {
        expect(driver.encode(to, { kind: 'restart' }).kind).toBe('call')
        expect(driver.encode(to, { kind: 'upgrade', uri: address, localCertificates: false }).kind).toBe('call')
      }),
    )
  })

  test('has a device blink, and end it, by calls that differ, or by none', () => {
    fc.assert(
      fc.property(device, (to) => {
        const blink = driver.encode(to, { kind: 'locate' })
        const end = driver.encode(to, { kind: 'unlocate' })
        expect(end.kind).toBe(blink.kind)
        expect(end.kind === 'rejected' || end).not.toEqual(blink)
      }),
    )
  })

  test('refuses a part that the device does not offer to restart', () => {
    const stock: DriverDevice = { mac: '02aabbccddee', type: 'switch', capabilities: {} }
    expect(driver.encode(stock, { kind: 'restart', member: 1 }).kind).toBe('rejected')
    expect(driver.encode(stock, { kind: 'restart', node: 'node0' }).kind).toBe('rejected')
    expect(driver.encode({ ...stock, capabilities: extension }, { kind: 'restart', member: 1 }).kind).toBe('call')
  })

  test('refuses addresses that would run in a shell of the device', () => {
    const bad = fc.constantFrom(...'\'"`$\\&; \n\u0000\u007f'.split(''))
    fc.assert(
      fc.property(device, uri, bad, (to, address, evil) => {
        const order = { kind: 'upgrade', uri: `${address}${evil}x`, localCertificates: false } as const
        expect(driver.encode(to, order).kind).toBe('rejected')
      }),
    )
  })

  test('never throws at what a device sends, and never takes nonsense for success', () => {
    const nonsense = fc.anything().filter((value) => !JSON.stringify(value ?? null).includes('status'))
    fc.assert(
      fc.property(device, command, nonsense, (to, order, value) => {
        const outcome = driver.decodeReply(
          { device: to, kind: order.kind, lastStep: null },
          { result: value, error: undefined },
        )
        expect(outcome === null || outcome.kind === 'rejected').toBe(true)
        const status = { type: 'firmware_upgrade_status', payload: value }
        const event = driver.decodeEvent({ device: to, kind: order.kind, lastStep: null }, status)
        expect(event === null || event.kind === 'rejected').toBe(true)
      }),
    )
  })

  test('bounds the words of a device that end up in the database', () => {
    const to: DriverDevice = { mac: '02aabbccddee', type: 'ap', capabilities: {} }
    const text = 'x'.repeat(100_000)
    for (const error of [0, 1]) {
      const outcome = driver.decodeReply(
        { device: to, kind: 'restart', lastStep: null },
        { result: { status: { error, text } }, error: undefined },
      )
      expect(JSON.stringify(outcome).length).toBeLessThan(1000)
    }
  })
})
