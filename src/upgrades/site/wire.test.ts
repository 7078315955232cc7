import { expect, test } from 'vitest'
import { parseSiteUpgrade } from './wire.ts'

test('include_new is refused where devices that join would contradict the request', () => {
  const parse = (body: object) => () => parseSiteUpgrade({ include_new: true, ...body }, 'site')
  const id = '00000000-0000-0000-1000-000000000001'
  expect(parse({ device_ids: [id], reboot: true })).toThrow('Invalid field include_new: is given with device_ids')
  expect(parse({})).toThrow('Invalid field include_new: needs reboot')
  expect(parse({ device_type: 'ap' })().includeNew).toMatchObject({ type: 'ap', ids: null })
  expect(parse({ reboot: true })().includeNew).toMatchObject({ type: null, ids: null })
})
