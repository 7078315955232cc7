import fc from 'fast-check'
import { expect, it } from 'vitest'
import { localMac } from './waves.ts'

const macOf = (serial: number): { mac: string } => ({ mac: (0x90_f2_59_00_00_00 + serial).toString(16) })

it('gives neighbors of a fleet no address that another one has', () => {
  const index = fc.integer({ min: 0, max: 4095 })
  fc.assert(
    fc.property(fc.nat(0xff_ff_fe), index, index, (serial, one, other) => {
      expect(localMac(macOf(serial), one)).not.toBe(localMac(macOf(serial + 1), other))
      expect(localMac(macOf(serial), one)).toMatch(/^92(:[0-9a-f]{2}){5}$/)
    }),
  )
})
