import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type SettingDocument, mergeSetting, omitSecrets, shortestIdleMinutes, strictestPolicy } from './setting.ts'

const policy = (rules: NonNullable<SettingDocument['password_policy']>): SettingDocument => ({
  password_policy: { enabled: true, ...rules },
})

describe('mergeSetting', () => {
  it('replaces top-level members, unsets, and keeps what the service decides', () => {
    const before = { password_policy: { enabled: true, min_length: 12 }, unknown: [1], ui_idle_timeout: 10 }
    const body = { id: 'x', org_id: 'y', created_time: 1, password_policy: { enabled: false }, '-ui_idle_timeout': '' }
    expect(mergeSetting(before, body)).toEqual({ password_policy: { enabled: false }, unknown: [1] })
  })
})

describe('omitSecrets', () => {
  it('leaves out texts that are secrets by name, at any depth', () => {
    const document = {
      mxedge_mgmt: { root_password: 'a', fips_enabled: true },
      cloudshark: { apitoken: 'b', url: 'https://c' },
      servers: [{ secret: 'd', host: 'e' }, 'f'],
      device_cert: { cert: 'g', key: 'h' },
      password_policy: { enabled: true },
    }
    expect(omitSecrets(document)).toEqual({
      mxedge_mgmt: { fips_enabled: true },
      cloudshark: { url: 'https://c' },
      servers: [{ host: 'e' }, 'f'],
      device_cert: { cert: 'g' },
      password_policy: { enabled: true },
    })
  })
})

describe('strictestPolicy', () => {
  const rules = fc.record(
    {
      enabled: fc.boolean(),
      min_length: fc.integer({ min: 1, max: 128 }),
      requires_special_char: fc.boolean(),
      requires_two_factor_auth: fc.boolean(),
      expiry_in_days: fc.integer({ min: 0, max: 400 }),
    },
    { requiredKeys: [] },
  )
  const setting: fc.Arbitrary<SettingDocument> = fc.record({ password_policy: rules }, { requiredKeys: [] })

  it('is the service’s own without any, and heeds only enabled ones', () => {
    const own = { minLength: 8, requiresSpecialChar: false, requiresTwoFactor: false, expiryDays: null }
    expect(strictestPolicy([])).toEqual(own)
    expect(strictestPolicy([{ password_policy: { min_length: 20, expiry_in_days: 3 } }])).toEqual(own)
    expect(strictestPolicy([policy({ min_length: 4, expiry_in_days: 0 })])).toEqual(own)
  })

  it('takes the strictest of each rule', () => {
    const settings = [
      policy({ min_length: 10, expiry_in_days: 90 }),
      policy({ requires_two_factor_auth: true, expiry_in_days: 30 }),
      policy({ requires_special_char: true, min_length: 12 }),
    ]
    expect(strictestPolicy(settings)).toEqual({
      minLength: 12,
      requiresSpecialChar: true,
      requiresTwoFactor: true,
      expiryDays: 30,
    })
  })

  it('grows no weaker with one more organization, in any order', () => {
    fc.assert(
      fc.property(fc.array(setting), setting, (settings, further) => {
        const before = strictestPolicy(settings)
        const after = strictestPolicy([further, ...settings])
        expect(after.minLength).toBeGreaterThanOrEqual(before.minLength)
        expect(after.requiresTwoFactor || !before.requiresTwoFactor).toBe(true)
        expect(after.requiresSpecialChar || !before.requiresSpecialChar).toBe(true)
        expect(after.expiryDays ?? Infinity).toBeLessThanOrEqual(before.expiryDays ?? Infinity)
        expect(strictestPolicy([...settings, further])).toEqual(after)
      }),
    )
  })
})

describe('shortestIdleMinutes', () => {
  it('passes over those that are off', () => {
    expect(shortestIdleMinutes([])).toBeNull()
    expect(shortestIdleMinutes([{ ui_idle_timeout: 0 }, {}])).toBeNull()
    expect(shortestIdleMinutes([{ ui_idle_timeout: 30 }, { ui_idle_timeout: 0 }, { ui_idle_timeout: 15 }])).toBe(15)
  })
})
