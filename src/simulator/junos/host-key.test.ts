import ssh2 from 'ssh2'
import { expect, test } from 'vitest'
import { generateHostKey } from './host-key.ts'

test('every generated key can be parsed', () => {
  const keys = Array.from({ length: 2000 }, generateHostKey)
  expect(keys.filter((key) => ssh2.utils.parseKey(key.private) instanceof Error)).toEqual([])
})
