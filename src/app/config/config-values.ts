import { isIP } from 'node:net'
import { AppError } from '../../platform/errors.ts'

export function splitList(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

export function parseCidrs(name: string, value: string | undefined): string[] {
  const cidrs = splitList(value)
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/')
    const family = isIP(address)
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
      throw invalid(name, `${cidr} is not an address range like 10.0.0.0/8`)
  }
  return cidrs
}

export function invalid(name: string, why: string): AppError {
  return new AppError('invalid', `${name} ${why}`)
}
