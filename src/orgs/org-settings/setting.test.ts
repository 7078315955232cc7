import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type SettingDocument,
  accessPolicyOf,
  cloneSetting,
  deriveSetting,
  installerSettingOf,
  mergeSetting,
  strictestPolicy,
  updownMinutesOf,
} from './setting.ts'

const policy = (rules: NonNullable<SettingDocument['password_policy']>): SettingDocument => ({
  password_policy: { enabled: true, ...rules },
})

describe('mergeSetting', () => {
  it('replaces top-level fields, unsets fields, and keeps the fields of the service', () => {
    const before = { password_policy: { enabled: true, min_length: 12 }, unknown: [1], ui_idle_timeout: 10 }
    const body = { id: 'x', org_id: 'y', created_time: 1, password_policy: { enabled: false }, '-ui_idle_timeout': '' }
    expect(mergeSetting(before, body)).toEqual({ password_policy: { enabled: false }, unknown: [1] })
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

  it('is the default of the service without any, and considers only enabled ones', () => {
    const own = { minLength: 8, requiresSpecialChar: false }
    expect(strictestPolicy([])).toEqual(own)
    expect(strictestPolicy([{ password_policy: { min_length: 20, expiry_in_days: 3 } }])).toEqual(own)
    expect(strictestPolicy([policy({ min_length: 4, expiry_in_days: 0 })])).toEqual(own)
  })

  it('uses the strictest value of each rule', () => {
    const settings = [
      policy({ min_length: 10, expiry_in_days: 90 }),
      policy({ requires_two_factor_auth: true, expiry_in_days: 30 }),
      policy({ requires_special_char: true, min_length: 12 }),
    ]
    expect(strictestPolicy(settings)).toEqual({
      minLength: 12,
      requiresSpecialChar: true,
    })
  })

  it('becomes no weaker with one more organization, in any order', () => {
    fc.assert(
      fc.property(fc.array(setting), setting, (settings, further) => {
        const before = strictestPolicy(settings)
        const after = strictestPolicy([further, ...settings])
        expect(after.minLength).toBeGreaterThanOrEqual(before.minLength)
        expect(after.requiresSpecialChar || !before.requiresSpecialChar).toBe(true)
        expect(strictestPolicy([...settings, further])).toEqual(after)
      }),
    )
  })
})

describe('accessPolicyOf', () => {
  it('has what an enabled policy demands, and nothing where each rule is off', () => {
    const rules = { requires_two_factor_auth: true, expiry_in_days: 30 }
    expect(accessPolicyOf(policy(rules))).toEqual({ requiresTwoFactor: true, expiryDays: 30, idleMinutes: null })
    expect(accessPolicyOf({ password_policy: rules, ui_idle_timeout: 5 })).toEqual({
      requiresTwoFactor: false,
      expiryDays: null,
      idleMinutes: 5,
    })
    for (const setting of [{}, { ui_idle_timeout: 0 }, policy({ expiry_in_days: 0, min_length: 12 })])
      expect(accessPolicyOf(setting)).toBeNull()
  })
})

const minutes = fc.option(fc.integer({ min: 0, max: 240 }))
const thresholds = fc.record(
  {
    device_updown_threshold: minutes,
    ap_updown_threshold: minutes,
    switch_updown_threshold: minutes,
    gateway_updown_threshold: minutes,
    ui_idle_timeout: fc.nat(480),
    vars: fc.dictionary(fc.string(), fc.string()),
  },
  { requiredKeys: [] },
)

describe('deriveSetting', () => {
  it('has all fields of the site, and those of the organization that the site does not set', () => {
    fc.assert(
      fc.property(thresholds, thresholds, (ofOrg, ofSite) => {
        const derived = deriveSetting(ofOrg, ofSite)
        expect(derived).toMatchObject(ofSite)
        for (const [name, value] of Object.entries(derived))
          if (!(name in ofSite)) expect([name.endsWith('_threshold'), value]).toEqual([true, Reflect.get(ofOrg, name)])
        expect(deriveSetting(ofOrg, derived)).toEqual(derived)
        expect(deriveSetting({}, ofSite)).toEqual(ofSite)
      }),
    )
  })
})

describe('updownMinutesOf', () => {
  it("uses the type's own threshold, then that of all devices, then none", () => {
    expect(updownMinutesOf({ device_updown_threshold: 5, ap_updown_threshold: 0 }, 'ap')).toBe(0)
    expect(updownMinutesOf({ device_updown_threshold: 5, ap_updown_threshold: 0 }, 'switch')).toBe(5)
    expect(updownMinutesOf({ device_updown_threshold: 5, gateway_updown_threshold: null }, 'gateway')).toBe(5)
    expect(updownMinutesOf({}, 'ap')).toBe(0)
  })

  it('stays within the allowed range', () => {
    fc.assert(
      fc.property(thresholds, thresholds, fc.constantFrom('ap', 'switch', 'gateway'), (ofOrg, ofSite, type) => {
        const found = updownMinutesOf(deriveSetting(ofOrg, ofSite), type)
        expect(found === 0 || [ofOrg, ofSite].some((set) => Object.values(set).includes(found))).toBe(true)
      }),
    )
  })
})

describe('cloneSetting', () => {
  it('omits secrets and the sites of the original', () => {
    const installer = { extra_site_ids: ['a'], grace_period: 3 }
    expect(cloneSetting({ installer, ssr: { conductor_token: 'x', disable_stats: true } })).toEqual({
      installer: { grace_period: 3 },
      ssr: { disable_stats: true },
    })
    expect(cloneSetting({ ui_idle_timeout: 3 })).toEqual({ ui_idle_timeout: 3 })
  })
})

describe('installerSettingOf', () => {
  it('has defaults', () => {
    expect(installerSettingOf({})).toEqual({
      allowAllDevices: false,
      allowAllSites: false,
      extraSiteIds: [],
      graceDays: 7,
    })
    expect(installerSettingOf({ installer: { grace_period: 0 } }).graceDays).toBe(0)
  })
})
