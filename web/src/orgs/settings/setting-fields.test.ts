import { expect, test } from 'vitest'
import { type Setting, changeOf, fieldOfPath, textsOf } from './setting-fields.ts'

const setting: Setting = {
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

test.each([
  ['password_policy.min_length', 'password_policy.min_length'],
  ['maintenance_windows.1.start', 'maintenance_windows'],
  ['password_policy', 'password_policy.enabled'],
  ['unknown', null],
  [null, null],
])('the refusal of %s is shown at %s', (path, field) => {
  expect(fieldOfPath(path)).toBe(field)
})
