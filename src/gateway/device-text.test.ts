import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deviceText } from './device-text.ts'

test.each([
  ['cmd curl -o /tmp/x "https://h.example:8080/firmware/a/b?c=d"', 'cmd curl -o /tmp/x "(address)"'],
  ["tftp://h/x' and HTTP://[2001:db8::1]/y failed", "(address)' and (address) failed"],
  ['Firmware image validation failed', 'Firmware image validation failed'],
])('%s', (text, kept) => expect(deviceText(text)).toBe(kept))

test('what the database refuses is replaced, even where a text is cut', () => {
  expect(deviceText(`${'x'.repeat(499)}\u{1f600}`)).toBe(`${'x'.repeat(499)}\ufffd`)
  expect(deviceText('a\0b')).toBe('a\ufffdb')
  expect(deviceText('x'.repeat(2000), 1000)).toHaveLength(1000)
})

test('no part of an address remains, wherever it is, and the length of the text is limited', () => {
  const around = fc.string({ maxLength: 600 }).map((text) => text.replaceAll('SECRET', ''))
  fc.assert(
    fc.property(around, around, (before, after) => {
      const kept = deviceText(`${before} http://127.0.0.1/firmware/SECRET ${after}`)
      expect(kept).not.toContain('SECRET')
      expect(kept.length).toBeLessThanOrEqual(500)
    }),
  )
})
