import { expect, it } from 'vitest'
import { configOf } from './config.ts'

it('omits settings that are not configured', () => {
  const config = configOf({ id: 'i', mac: 'm', name: 'Lobby', map_id: 'x', created_time: 1, led: { enabled: true } })
  expect(JSON.stringify(config)).toBe('{"led":{"enabled":true},"map_id":"x","name":"Lobby"}')
})
