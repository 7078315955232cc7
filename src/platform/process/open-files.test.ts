import { expect, it } from 'vitest'
import { devicesWithin, parseOpenFilesLimit } from './open-files.ts'

const limits = (
  soft: string,
  hard: string,
): string => `Limit                     Soft Limit           Hard Limit           Units
Max core file size        0                    unlimited            bytes
Max open files            ${soft.padEnd(21)}${hard.padEnd(21)}files
Max locked memory         8388608              8388608              bytes
`

it('reads the limit that holds', () => {
  expect(parseOpenFilesLimit(limits('1024', '524288'))).toBe(1024)
  expect(parseOpenFilesLimit(limits('unlimited', 'unlimited'))).toBeNull()
  expect(parseOpenFilesLimit('')).toBeNull()
})

it('leaves files for what is not a device', () => {
  expect(devicesWithin(10_500)).toBe(10_000)
  expect(devicesWithin(256)).toBe(0)
})
