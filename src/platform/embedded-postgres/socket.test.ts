import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SOCKET_PORT, planSocketDir, quoteSocketDir } from './socket.ts'

const path = fc
  .array(fc.stringMatching(/^[^/\0]{1,40}$/), { minLength: 1, maxLength: 8 })
  .map((names) => `/${names.join('/')}`)

test('the socket path always fits, and stays in the home folder when that fits', () => {
  fc.assert(
    fc.property(path, (home) => {
      const folder = planSocketDir(home, ['/tmp'])
      const length = (place: string) => Buffer.byteLength(`${place}/.s.PGSQL.${SOCKET_PORT}`)
      expect(length(folder)).toBeLessThanOrEqual(103)
      expect(folder === home).toBe(length(home) <= 103)
    }),
  )
})

test('two homes never share a folder, one home always has the same', () => {
  const long = `/${'x'.repeat(120)}`
  expect(planSocketDir(`${long}/a`)).toBe(planSocketDir(`${long}/a`))
  expect(planSocketDir(`${long}/a`)).not.toBe(planSocketDir(`${long}/b`))
})

test('a temporary folder that is too long is passed over', () => {
  const long = `/${'x'.repeat(120)}`
  expect(planSocketDir(long, [long, '/tmp'])).toMatch(/^\/tmp\/signalbox-[0-9a-f]{16}$/)
  expect(() => planSocketDir(long, [long])).toThrow('too long')
})

test('quoting leaves commas and blanks alone and doubles quotes', () => {
  expect(quoteSocketDir('/a b,c"d')).toBe('"/a b,c""d"')
})
