import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mayUnlink } from './decide-unlink.ts'

it('never removes the last way to sign in', () => {
  const names = fc.uniqueArray(fc.constantFrom('google', 'azure', 'github'))
  fc.assert(
    fc.property(fc.boolean(), fc.boolean(), names, (hasPassword, hasSso, usable) => {
      const rest = usable.filter((name) => name !== 'google')
      const remains = hasPassword || hasSso || rest.length > 0
      expect(mayUnlink({ hasPassword, hasSso, usable, provider: 'google' })).toBe(remains)
    }),
  )
})
