import { expect, test } from 'vitest'
import {
  type Setting,
  type SettingTexts,
  changeOf as changeOfFields,
  fieldOfPath,
  hasOthers,
  settingFields,
  textsOf,
} from './setting-fields.ts'

const changeOf = (texts: SettingTexts, stored: Setting) => changeOfFields(texts, stored, settingFields)

const setting = {
  ...{ id: 'org', org_id: 'org', for_site: false, pcap_bucket_verified: false, ui_idle_timeout: 30 },
  password_policy: { enabled: true, min_length: 12, future: 'kept' },
  maintenance_windows: [
    { days: ['sat', 'sun'], start: '22:00', end: '04:00' },
    { start: '01:00', end: '02:00' },
  ],
}

test('a form that is not changed sends nothing', () => {
  expect(textsOf(setting)).toMatchObject({
    ...{ ui_idle_timeout: '30', 'password_policy.enabled': 'true', 'password_policy.min_length': '12' },
    ...{ maintenance_windows: 'sat sun 22:00-04:00\n01:00-02:00', device_updown_threshold: '' },
  })
  expect(changeOf(textsOf(setting), setting)).toEqual({})
})

test('only what has changed is sent, a group with all that it has', () => {
  const texts = {
    ...textsOf(setting),
    'password_policy.min_length': '',
    'password_policy.requires_two_factor_auth': 'true',
  }
  expect(changeOf(texts, setting)).toEqual({
    password_policy: { enabled: true, future: 'kept', requires_two_factor_auth: true },
  })
  expect(changeOf({ ...textsOf(setting), ui_idle_timeout: '' }, setting)).toEqual({ ui_idle_timeout: 0 })
  expect(changeOf({ ...textsOf(setting), ui_idle_timeout: 'soon' }, setting)).toEqual({ ui_idle_timeout: 'soon' })
})

test('windows are lines of days and times', () => {
  const change = (text: string) => changeOf({ ...textsOf(setting), maintenance_windows: text }, setting)
  expect(change('fri, sat 23:00–24:00\n')).toEqual({
    maintenance_windows: [{ days: ['fri', 'sat'], start: '23:00', end: '24:00' }],
  })
  expect(change('')).toEqual({ maintenance_windows: null })
})

test('automatic upgrades are days, times and versions by model', () => {
  const automatic = {
    ...setting,
    auto_upgrade: { enabled: true, version: 'custom', custom_versions: { AP45: '2.0.0', AP41: 'stable' } },
    switch: { networks: {}, auto_upgrade: { enabled: true, snapshot: true } },
  }
  const texts = textsOf(automatic)
  expect(texts).toMatchObject({
    ...{ 'auto_upgrade.enabled': 'true', 'auto_upgrade.version': 'custom', 'auto_upgrade.day_of_week': '' },
    ...{ 'auto_upgrade.custom_versions': 'AP45 2.0.0\nAP41 stable', 'switch.auto_upgrade.enabled': 'true' },
  })
  expect(changeOf(texts, automatic)).toEqual({})
  const change = (changes: Readonly<Record<string, string>>) => changeOf({ ...texts, ...changes }, automatic)
  expect(change({ 'auto_upgrade.day_of_week': 'sun', 'auto_upgrade.time_of_day': ' 03:30 ' })).toEqual({
    auto_upgrade: { ...automatic.auto_upgrade, day_of_week: 'sun', time_of_day: '03:30' },
  })
  expect(change({ 'auto_upgrade.version': '', 'auto_upgrade.custom_versions': '' })).toEqual({
    auto_upgrade: { enabled: true },
  })
  expect(change({ 'switch.auto_upgrade.custom_versions': 'EX 4100  23.4R2\nEX2300\n' })).toEqual({
    switch: {
      networks: {},
      auto_upgrade: { enabled: true, snapshot: true, custom_versions: { 'EX 4100': '23.4R2', EX2300: '' } },
    },
  })
})

test('a group has others beside the fields of upgrades', () => {
  const hiding: Setting = {
    switch: { radius_config: { auth_servers: [{ host: '10.0.0.1' }] } },
    ssr: { auto_upgrade: { channel: 'beta' } },
    auto_upgrade: { enabled: true, future: 'kept' },
  }
  const keys = new Set(settingFields.filter((field) => hasOthers(field, hiding)).map(({ path: [key] }) => key))
  expect([...keys]).toEqual(['switch'])
})

test.each([
  ['auto_upgrade.custom_versions.EX2300', 'auto_upgrade.custom_versions'],
  ['password_policy.min_length', 'password_policy.min_length'],
  ['maintenance_windows.1.start', 'maintenance_windows'],
  ['password_policy', 'password_policy.enabled'],
  ['unknown', null],
  [null, null],
])('the refusal of %s is shown at %s', (path, field) => {
  expect(fieldOfPath(path)).toBe(field)
})
