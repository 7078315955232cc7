import fc from 'fast-check'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { textOf } from '../http/texts.ts'
import { deviceIdOf, newClaimCode, parseMac } from './device.ts'

const mac = fc.stringMatching(/^[0-9a-f]{12}$/)

test('parseMac reads the usual spellings as one', () => {
  fc.assert(
    fc.property(mac, fc.constantFrom(':', '-', '.', ''), fc.boolean(), (plain, separator, upper) => {
      const groups = plain.match(separator === '.' ? /..../g : /../g) ?? []
      const spelled = upper ? groups.join(separator).toUpperCase() : groups.join(separator)
      expect(parseMac(spelled)).toBe(plain)
      expect(Value.Check(textOf('mac'), spelled)).toBe(true)
    }),
  )
})

test.each([
  ...['', '0011223344', '00112233445g', '00:11:22-33:44:55', '00:11:22:33:44:55:66', ' 001122334455'],
  ...['00.11.22.33.44.55', '0011.2233-4455', '0011.22334455', '0011:2233:4455', '0011.2233.4455.6677'],
])('parseMac refuses %j', (text) => {
  expect(parseMac(text)).toBeNull()
  expect(Value.Check(textOf('mac'), text)).toBe(false)
})

test('a device id is a UUID that ends in the MAC', () => {
  fc.assert(
    fc.property(mac, (plain) => {
      expect(deviceIdOf(plain)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect(deviceIdOf(plain).endsWith(plain)).toBe(true)
    }),
  )
})

test('claim codes are readable and differ', () => {
  const codes = Array.from({ length: 1000 }, newClaimCode)
  for (const code of codes) expect(code).toMatch(/^[A-HJKMNP-Z2-9]{15}$/)
  expect(new Set(codes).size).toBe(1000)
})
