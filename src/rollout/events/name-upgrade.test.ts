import { expect, it } from 'vitest'
import { nameUpgrade } from './name-upgrade.ts'

it('puts the name of an upgrade before its id, or at the end', () => {
  expect(nameUpgrade('Pause upgrade 7f, now', '7f', '$& "x"')).toBe('Pause upgrade "$& "x"" (7f), now')
  expect(nameUpgrade('Upgrade 3 devices to 2.0', '7f', 'Friday')).toBe('Upgrade 3 devices to 2.0 ("Friday")')
  expect(nameUpgrade('Pause upgrade 7f', '7f', null)).toBe('Pause upgrade 7f')
})
