import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findRefusal } from '../../src/devices/commands/capabilities.ts'
import { type CommandOrder, commandKinds } from '../../src/devices/commands/command.ts'
import type { Driver, DriverCommand, DriverDevice, Messages } from '../../src/gateway/driver.ts'
import type { CommandKind, DeviceCapabilities } from '../../src/devices/tables.ts'
import { type CodecSamples, describeCodec } from './codec-suite.ts'

/** The samples of a driver for the suite. */
export interface DriverSamples<M extends Messages> extends Pick<
  CodecSamples<DriverCommand, M['call'], M['reply']>,
  'success' | 'refusal' | 'repliesToAnother' | 'strangeReply' | 'strangeEvent' | 'sizeOf' | 'maxCallBytes'
> {
  /** A device of each kind that the driver distinguishes, with its hello. */
  readonly devices: readonly {
    readonly device: DriverDevice
    readonly hello: M['hello']
    /** True for a device whose upgrades the driver refuses. */
    readonly refusesUpgrades?: boolean
  }[]
}

const MAX_WAIT_MS = 3_600_000

/** The command of the replies that name one. */
export const sentCommandId = '00000000-0000-4000-8000-000000000000'
const sent = { id: sentCommandId, lastStep: null }

const uri = fc.stringMatching(/^[a-z0-9/_-]{1,80}$/).map((path) => `https://example.test/${path}`)
const image = { version: fc.constantFrom('2.0.0', '23.4R2-S2.1'), sha256: fc.constant('ab'.repeat(32)) }
const file = { sizeBytes: fc.constant(1000), signature: fc.constant(null) }
const download = { uri, localCertificates: fc.boolean(), ...image, ...file }
const command = fc.oneof<fc.Arbitrary<DriverCommand>[]>(
  fc.constant({ kind: 'restart' }),
  fc.integer({ min: 0, max: 9 }).map((member) => ({ kind: 'restart', member })),
  fc.constantFrom('node0' as const, 'node1' as const).map((node) => ({ kind: 'restart', node })),
  fc.record({ kind: fc.constantFrom('upgrade' as const, 'stage' as const), ...download }),
  fc.record({ kind: fc.constant('support' as const), uri, localCertificates: fc.boolean() }),
  fc.record({
    kind: fc.constant('ping' as const),
    host: fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6()),
    count: fc.integer({ min: 1, max: 100 }),
    size: fc.integer({ min: 56, max: 65_535 }),
  }),
  fc.record({ kind: fc.constant('activate' as const), ...image }),
  fc.constantFrom('locate', 'unlocate', 'restore_backup', 'snapshot').map((kind) => ({ kind })),
)
/** The command row of a driver's command. */
function orderOf({ kind, ...params }: DriverCommand): CommandOrder {
  const row = { image_id: 'a', version: '2.0.0' }
  // The kind determines the parameters, which the type of a spread can't express.
  return {
    kind,
    params: ['upgrade', 'stage', 'activate'].includes(kind) ? row : kind === 'restart' || kind === 'ping' ? params : {},
  } as CommandOrder
}

/** Tests the behavior that all drivers share, whatever their protocol. */
export function describeDriver<M extends Messages>(name: string, driver: Driver<M>, samples: DriverSamples<M>): void {
  describe.each(samples.devices)(
    `the driver of ${name}, of $device.type $hello`,
    ({ device, hello, refusesUpgrades = false }) => {
      const capabilities: DeviceCapabilities = driver.capabilitiesOf(hello)
      const has = (kind: CommandKind): boolean => capabilities.commands.includes(kind)

      test('says what the device can do in a document that can be stored', () => {
        expect(JSON.parse(JSON.stringify(capabilities))).toEqual(capabilities)
        expect(capabilities.commands.filter((kind) => !commandKinds.includes(kind))).toEqual([])
        expect(JSON.stringify(capabilities).length).toBeLessThan(1000)
      })

      test('restarts it, and upgrades it in one step or in two', () => {
        expect(has('restart')).toBe(true)
        expect(has('stage')).toBe(has('activate'))
        expect(has('upgrade') || has('stage')).toBe(!refusesUpgrades)
      })

      test('encodes any other command, or says why not', () => {
        fc.assert(
          fc.property(command, (order) => {
            const encoded = driver.encode(device, order)
            if (encoded.kind === 'call') return
            expect(encoded.code).not.toBe('')
            expect(encoded.text).not.toBe('')
          }),
        )
      })

      test('has it blink, and end that, by calls that differ, or by none', () => {
        expect(has('unlocate')).toBe(has('locate'))
        if (!has('locate')) return
        expect(driver.encode(device, { kind: 'unlocate' })).not.toEqual(driver.encode(device, { kind: 'locate' }))
      })

      describeCodec(
        {
          // A driver may refuse the address of a download, which no capability shows.
          encode: (order: DriverCommand) =>
            driver.encode(device, 'uri' in order ? { ...order, localCertificates: false } : order),
          decodeReply: ({ kind }, reply: M['reply']) => driver.decodeReply({ ...sent, device, kind }, reply),
          decodeEvent: ({ kind }, event) => driver.decodeEvent({ ...sent, device, kind }, event),
        },
        {
          ...samples,
          orders: command.filter((order) => findRefusal(capabilities, orderOf(order)) === null),
          order: { kind: 'restart' },
          maxWaitMs: MAX_WAIT_MS,
        },
      )
    },
  )
}
