import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planReplacement } from './plan-replacement.ts'

const old = { name: 'Lobby', doc: { map_id: 'm', x: 1, y: 2, height: 3, role: 'access', led: { enabled: false } } }
const fresh = { name: null, doc: {} }

describe('planReplacement', () => {
  it('transfers everything to the replacement', () => {
    expect(planReplacement(old, fresh, [])).toEqual({
      replacement: old,
      replaced: { name: null, doc: {} },
      images: [1, 2, 3],
    })
  })

  it('leaves discarded fields with the replaced device', () => {
    const own = { name: 'Spare', doc: { role: 'mesh', notes: 'from the shelf' } }
    expect(planReplacement(old, own, ['name', 'role', 'led', 'image2_url', 'never_set'])).toEqual({
      replacement: { name: 'Spare', doc: { map_id: 'm', x: 1, y: 2, height: 3, role: 'mesh' } },
      replaced: { name: 'Lobby', doc: { role: 'access', led: { enabled: false } } },
      images: [1, 3],
    })
  })

  it('transfers no position without its map', () => {
    const { replacement, replaced } = planReplacement(old, fresh, ['map_id'])
    expect(replacement.doc).toEqual({ height: 3, role: 'access', led: { enabled: false } })
    expect(replaced.doc).toEqual({})
  })

  it('keeps the name of the replacement if the replaced device had none', () => {
    expect(planReplacement(fresh, { name: 'Spare', doc: {} }, []).replacement.name).toBe('Spare')
  })

  it('is reversible: replacing back restores the device', () => {
    const key = fc.constantFrom('role', 'led', 'notes', 'height', 'vars')
    const dress = fc.record({ name: fc.string({ minLength: 1 }), doc: fc.dictionary(key, fc.jsonValue()) })
    fc.assert(
      fc.property(dress, fc.array(fc.oneof(key, fc.constant('name'))), (device, discard) => {
        const there = planReplacement(device, fresh, discard)
        const back = planReplacement(there.replacement, there.replaced, discard)
        expect(back.replacement).toEqual(device)
      }),
    )
  })
})
