import { expect, test } from 'vitest'
import { type Effect, effectText } from './effect.ts'

const devices: Effect = { does: 'Restarts', counts: [{ count: 42, one: 'access point' }], sites: 3 }

test.each<[Effect, string]>([
  [devices, 'Restarts 42 access points at 3 sites.'],
  [
    { ...devices, consequences: ['Disconnects 310 clients.', null], isFinal: true },
    'Restarts 42 access points at 3 sites. Disconnects 310 clients. This cannot be undone.',
  ],
  [
    {
      does: 'Deletes',
      name: 'Ground floor',
      counts: [
        { count: 1, one: 'floor plan' },
        { count: 10, one: 'wall' },
        { count: 0, one: 'path' },
        { count: 2, one: 'geofence' },
      ],
    },
    'Deletes 1 floor plan, 10 walls and 2 geofences (Ground floor).',
  ],
  [
    { does: 'Cancels the upgrade of', counts: [{ count: 0, one: 'switch', many: 'switches' }] },
    'Cancels the upgrade of 0 switches.',
  ],
])('%j', (effect, text) => {
  expect(effectText(effect)).toBe(text)
})
