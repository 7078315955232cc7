import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecrets } from '../../platform/secrets.ts'
import {
  type RetiredSecret,
  openWebhookSecrets,
  retireSecrets,
  sealWebhookSecrets,
  signingSecrets,
} from './webhook-secrets.ts'

const now = new Date('2026-11-20T12:00:00Z')
const HOUR_S = 3600

const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
const state = (secret: string | null, retired: readonly RetiredSecret[] = []) => ({
  secrets: secret === null ? null : { secret },
  retired,
})
const change = (secret: string | null, overlapS?: number) => ({
  doc: overlapS === undefined ? {} : { secret_overlap_s: overlapS },
  secrets: secret === null ? null : { secret },
})

describe('sealed secrets', () => {
  const secrets = createSecrets(randomBytes(32))

  it('are sealed for one webhook', () => {
    const plain = { fields: { secret: 's' }, retired: [{ secret: 'r', untilMs: 1 }], signingKeys: [] }
    const sealed = sealWebhookSecrets(secrets, 'w', plain)
    expect(openWebhookSecrets(secrets, 'w', sealed)).toEqual(plain)
    expect(() => openWebhookSecrets(secrets, 'v', sealed)).toThrow()
    expect(sealWebhookSecrets(secrets, 'w', { fields: null, retired: [], signingKeys: [] })).toBeNull()
  })

  it.each([
    [null, []],
    [{ secret: 'r', untilMs: 1 }, [{ secret: 'r', untilMs: 1 }]],
  ])('are read as an earlier release stored them: %j', (retired, expected) => {
    const sealed = secrets.seal(JSON.stringify({ fields: { secret: 's' }, retired }), 'w')
    expect(openWebhookSecrets(secrets, 'w', sealed).retired).toEqual(expected)
  })
})

describe('retireSecrets', () => {
  it('keeps a replaced secret for a day unless the webhook says otherwise', () => {
    const ofOld = (overlapS?: number) => retireSecrets(state('old'), change('new', overlapS), now)
    expect(ofOld()).toEqual([{ secret: 'old', untilMs: after(24 * HOUR_S).getTime() }])
    expect(ofOld(60)).toEqual([{ secret: 'old', untilMs: after(60).getTime() }])
    expect(ofOld(0)).toEqual([])
  })

  it('keeps none without a new secret, and none that becomes the current one again', () => {
    expect(retireSecrets(state('old'), change('old'), now)).toEqual([])
    expect(retireSecrets(state('old'), change(null), now)).toEqual([])
    expect(retireSecrets(state(null), change('new'), now)).toEqual([])
    const back = retireSecrets(state('new', [{ secret: 'old', untilMs: after(60).getTime() }]), change('old'), now)
    expect(back.map(({ secret }) => secret)).toEqual(['new'])
  })

  it('refuses a sixth secret that would be valid as well', () => {
    const five = Array.from({ length: 5 }, (_, n) => ({ secret: `s${n}`, untilMs: after(60).getTime() }))
    expect(() => retireSecrets(state('old', five), change('new'), now)).toThrow(/^Invalid field secret: at most 5/)
    expect(retireSecrets(state('old', five), change('new', 0), now)).toEqual(five)
    expect(retireSecrets(state('old', five), change('new'), after(60))).toHaveLength(1)
  })

  it('lets every secret sign until its own end, the current one first', () => {
    const rotation = fc.record({ pauseS: fc.integer({ min: 0, max: 100 }), overlapS: fc.integer({ min: 0, max: 200 }) })
    fc.assert(
      fc.property(fc.array(rotation, { maxLength: 5 }), fc.integer({ min: 0, max: 400 }), (rotations, askedS) => {
        let [atS, current] = [0, state('s0')]
        const ends: { secret: string; endS: number }[] = []
        rotations.forEach(({ pauseS, overlapS }, n) => {
          atS += pauseS
          ends.unshift({ secret: `s${n}`, endS: atS + overlapS })
          const next = `s${n + 1}`
          current = state(next, retireSecrets(current, change(next, overlapS), after(atS)))
        })
        const secrets = { fields: current.secrets, retired: current.retired }
        const valid = ends.filter(({ endS }) => endS > atS + askedS).map(({ secret }) => secret)
        expect(signingSecrets(secrets, after(atS + askedS))).toEqual([`s${rotations.length}`, ...valid])
      }),
    )
  })
})
