import { expect, test } from 'vitest'
import {
  type SiteSetting,
  inheritedBy,
  isEditable,
  ownNameOf,
  reliedOnBy,
  siteChangeOf,
  siteUnits,
  textsOfSite,
} from './site-setting.ts'

const ofOrg = {
  auto_upgrade: { enabled: true, day_of_week: 'sun', future: 'kept' },
  maintenance_windows: [{ start: '22:00', end: '04:00' }],
  switch: { auto_upgrade: { enabled: true }, networks: { lab: { vlan_id: 7 } } },
  password_policy: { enabled: true },
}
const { password_policy: _, ...inherited } = ofOrg
const own = { device_updown_threshold: 5, ssr: { auto_upgrade: { enabled: true } } }
const setting: SiteSetting = { own, effective: { ...inherited, ...own }, ofOrg, mayWriteOrg: true }

const unitOf = (key: string) => siteUnits.find((unit) => unit.key === key) ?? { key, title: key, fields: [] }
const changed = (texts: Readonly<Record<string, string>>, of = setting) =>
  siteChangeOf({ ...textsOfSite(of), ...texts }, of)

test('a form that is not changed sends nothing', () => {
  expect(textsOfSite(setting)).toMatchObject({
    ...{ 'own auto_upgrade': '', 'auto_upgrade.day_of_week': 'sun' },
    ...{ 'own device_updown_threshold': 'true', device_updown_threshold: '5' },
  })
  expect(changed({})).toEqual({})
  expect(siteUnits.map(({ key }) => key)).not.toContain('password_policy')
})

test('a key becomes one of the site with all that applied, and is inherited again', () => {
  expect(changed({ 'own auto_upgrade': 'true', 'auto_upgrade.time_of_day': '03:30' })).toEqual({
    auto_upgrade: { enabled: true, day_of_week: 'sun', future: 'kept', time_of_day: '03:30' },
  })
  expect(changed({ 'own switch': 'true', 'switch.auto_upgrade.version': '23.4R2' })).toEqual({
    switch: { auto_upgrade: { enabled: true, snapshot: false, version: '23.4R2' }, networks: { lab: { vlan_id: 7 } } },
  })
  // The site begins at any time, other than its organization.
  expect(changed({ 'own maintenance_windows': 'true', maintenance_windows: '' })).toEqual({ maintenance_windows: null })
  expect(changed({ 'own ssr': '', device_updown_threshold: '7' })).toEqual({ '-ssr': '', device_updown_threshold: 7 })
})

test('what is typed for a key that stays inherited is not sent', () => {
  expect(changed({ 'auto_upgrade.time_of_day': '03:30' })).toEqual({})
})

test('edits rely on the switch of a key that the site has, and its switch on the fields that it discards', () => {
  expect(reliedOnBy(setting, 'device_updown_threshold')).toEqual(['own device_updown_threshold'])
  expect(reliedOnBy(setting, 'own device_updown_threshold')).toEqual(['device_updown_threshold'])
  expect(reliedOnBy(setting, 'own auto_upgrade')).toEqual([])
  expect(reliedOnBy(setting, 'auto_upgrade.version')).toEqual([])
})

test('what a key would inherit is known to those who read the organization', () => {
  const ofSiteRole = { ...setting, ofOrg: undefined, mayWriteOrg: false }
  expect(inheritedBy(setting, unitOf('ssr'))).toBe(ofOrg)
  expect(inheritedBy(ofSiteRole, unitOf('ssr'))).toBeUndefined()
  expect(inheritedBy(ofSiteRole, unitOf('auto_upgrade'))).toBe(setting.effective)
})

test('a group that may have secrets which the person does not see is not written', () => {
  const ofSiteRole = { ...setting, ofOrg: undefined, mayWriteOrg: false }
  const hidden = { ...setting, ofOrg: { ...ofOrg, api_policy: { no_reveal: true } } }
  const locked = (seen: SiteSetting) => siteUnits.filter((unit) => !isEditable(seen, unit)).map(({ key }) => key)
  expect(locked(setting)).toEqual([])
  for (const seen of [ofSiteRole, hidden, { ...setting, mayWriteOrg: false }]) {
    expect(locked(seen)).toEqual(['switch'])
    expect(changed({ [ownNameOf({ key: 'switch' })]: 'true' }, seen)).toEqual({})
  }
  const ofSite = { ...setting, mayWriteOrg: false, own: { ...own, switch: ofOrg.switch } }
  expect(locked(ofSite)).toEqual([])
})
