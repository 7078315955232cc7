import { expect, test } from 'vitest'
import { sizeText } from './size.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [13_002_342, '12.4 MiB'],
  [5 * 1024 ** 4, '5120.0 GiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text)
})
